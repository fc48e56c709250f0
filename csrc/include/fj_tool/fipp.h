/* SPDX-License-Identifier: BSD-3-Clause */
/* The section routines of the Instant Profiler for C and C++. `vtrace compat fipp -C -S range` samples a program only
   between fipp_start() and fipp_stop(). Without vtrace these routines do nothing, and the program needs no library for
   them. docs/instant-profiler.md explains them. */
#ifndef VT_FJ_TOOL_FIPP_H
#define VT_FJ_TOOL_FIPP_H

#ifdef __cplusplus
extern "C" {
#endif
/* Weak: NULL in a program that runs without vtrace. */
void VT_User_sample_section__(int begins) __attribute__((weak));

static inline void fipp_start(void)
{
    if (VT_User_sample_section__) VT_User_sample_section__(1);
}

static inline void fipp_stop(void)
{
    if (VT_User_sample_section__) VT_User_sample_section__(0);
}
#ifdef __cplusplus
}
#endif

#endif
