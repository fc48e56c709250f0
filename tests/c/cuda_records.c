/* SPDX-License-Identifier: BSD-3-Clause */
/* The program that plays CUDA, in one executable with vtrace, which it then loads as its tool: for sanitizers. */
#include "../programs/cuda_calls.c"
