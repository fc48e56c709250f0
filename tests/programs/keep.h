/* SPDX-License-Identifier: BSD-3-Clause */
/* KEEP: the compiler does not inline the function. QUIET: the function is never traced. */
#define KEEP __attribute__((noinline))
#define QUIET __attribute__((no_instrument_function))
