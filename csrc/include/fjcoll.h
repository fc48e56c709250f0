/* SPDX-License-Identifier: BSD-3-Clause */
/* The section routines of the Advanced Profiler (precision PA) for C and C++: sections with number 0.
   Without vtrace the routines do nothing, and the program needs no library for them. docs/sections.md explains them. */
#ifndef VT_FJCOLL_H
#define VT_FJCOLL_H

#define VT_SECTION_COLLECTION (-1) /* their level, below all priority levels */

#ifdef __cplusplus
extern "C" {
#endif
/* Weak: NULL in a program that runs without vtrace. */
void VT_User_section_start__(const char *name, int number, int level) __attribute__((weak));
void VT_User_section_stop__(const char *name, int number, int level) __attribute__((weak));

static inline void start_collection(const char *name)
{
    if (VT_User_section_start__) VT_User_section_start__(name, 0, VT_SECTION_COLLECTION);
}

static inline void stop_collection(const char *name)
{
    if (VT_User_section_stop__) VT_User_section_stop__(name, 0, VT_SECTION_COLLECTION);
}
#ifdef __cplusplus
}
#endif

#endif
