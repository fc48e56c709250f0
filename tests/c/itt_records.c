/* SPDX-License-Identifier: BSD-3-Clause */
/* The program that calls ITT, in one executable with vtrace, which it then loads as its tool: for sanitizers. */
#include "../programs/itt_calls.c"
