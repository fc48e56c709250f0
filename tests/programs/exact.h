/* SPDX-License-Identifier: BSD-3-Clause */
/* Small functions of exact.c and exact_lib.c that compilers inline when they optimise. */
static inline int clamp(int x, int most) { return x < 0 ? 0 : x > most ? most : x; }

static inline int twice(int x) { return 2 * clamp(x, 1000); }
