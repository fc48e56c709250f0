/* SPDX-License-Identifier: BSD-3-Clause */
/* The section routines of the Advanced Profiler for C and C++. A section is measured if its level is at most
   VT_SECTION_LEVEL, the guide's option -L. Without vtrace the routines do nothing, and the program needs no library for
   them. docs/sections.md explains them. */
#ifndef VT_FJ_TOOL_FAPP_H
#define VT_FJ_TOOL_FAPP_H

#ifdef __cplusplus
extern "C" {
#endif
/* Weak: NULL in a program that runs without vtrace. */
void VT_User_section_start__(const char *name, int number, int level) __attribute__((weak));
void VT_User_section_stop__(const char *name, int number, int level) __attribute__((weak));

static inline void fapp_start(const char *name, int number, int level)
{
    if (VT_User_section_start__) VT_User_section_start__(name, number, level);
}

static inline void fapp_stop(const char *name, int number, int level)
{
    if (VT_User_section_stop__) VT_User_section_stop__(name, number, level);
}
#ifdef __cplusplus
}
#endif

#endif
