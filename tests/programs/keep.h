/* SPDX-License-Identifier: BSD-3-Clause */
/* KEEP: a function that stays a function at every optimisation. QUIET: one that is never traced. */
#define KEEP __attribute__((noinline))
#define QUIET __attribute__((no_instrument_function))
