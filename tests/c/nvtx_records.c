/* SPDX-License-Identifier: BSD-3-Clause */
/* The program that calls NVTX, in one executable with vtrace, which it then loads as its tool: for sanitizers. */
#include "../programs/nvtx_calls.c"
