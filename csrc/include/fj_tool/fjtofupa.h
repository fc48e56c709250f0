/* SPDX-License-Identifier: BSD-3-Clause */
/* The section routines of Tofu PA for C and C++. A section is measured if its level is below FJ_TOFUPA_LEVEL; the name
   is not used. Without vtrace the routines do nothing, and the program needs no library for them. docs/sections.md
   explains them. */
#ifndef VT_FJ_TOOL_FJTOFUPA_H
#define VT_FJ_TOOL_FJTOFUPA_H

#ifdef __cplusplus
extern "C" {
#endif
/* Weak: NULL in a program that runs without vtrace. */
void VT_User_tofu_section__(int region, int level, int begins) __attribute__((weak));

static inline void fj_tofupa_start(const char *name, int region, int level)
{
    (void)name;
    if (VT_User_tofu_section__) VT_User_tofu_section__(region, level, 1);
}

static inline void fj_tofupa_stop(const char *name, int region, int level)
{
    (void)name;
    if (VT_User_tofu_section__) VT_User_tofu_section__(region, level, 0);
}
#ifdef __cplusplus
}
#endif

#endif
