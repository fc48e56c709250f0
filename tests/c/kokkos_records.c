/* SPDX-License-Identifier: BSD-3-Clause */
/* The program that plays Kokkos, in one executable with vtrace, which it then loads as its tool: for sanitizers. */
#include "../programs/kokkos_calls.c"
