/* SPDX-License-Identifier: BSD-3-Clause */
/* libfapp.a: the section routines of the Advanced Profiler and of Tofu PA as functions, for Fortran, and for C and C++
   that declares them without their headers. A separate library, not a part of libvtrace.so.1, since a site may have the
   original. The headers define functions of the same names, so this file repeats the calls of the library. */
#include "../userwrap/fortran_names.h"

#define VT_SECTION_COLLECTION (-1) /* as in csrc/include/fjcoll.h */
#define PUBLIC __attribute__((visibility("default")))
#define WEAK __attribute__((weak))

void VT_User_section_start__(const char *name, int number, int level) WEAK;
void VT_User_section_stop__(const char *name, int number, int level) WEAK;
void VT_User_tofu_section__(int region, int level, int begins) WEAK;

#define SECTION(lower, upper, function)                                                                                \
    PUBLIC void lower(const char *name, int number, int level);                                                        \
    PUBLIC void lower(const char *name, int number, int level)                                                         \
    {                                                                                                                  \
        if (function) function(name, number, level);                                                                   \
    }                                                                                                                  \
    VT_FORTRAN_TAILED(lower, upper, (const char *name, const int *number, const int *level, int n))                    \
    {                                                                                                                  \
        struct vt_fortran_name s;                                                                                      \
        lower(vt_c_string(&s, name, n), *number, *level);                                                              \
    }
SECTION(fapp_start, FAPP_START, VT_User_section_start__)
SECTION(fapp_stop, FAPP_STOP, VT_User_section_stop__)

#define COLLECTION(lower, upper, function)                                                                             \
    PUBLIC void lower(const char *name);                                                                               \
    PUBLIC void lower(const char *name)                                                                                \
    {                                                                                                                  \
        if (function) function(name, 0, VT_SECTION_COLLECTION);                                                        \
    }                                                                                                                  \
    VT_FORTRAN_TAILED(lower, upper, (const char *name, int n))                                                         \
    {                                                                                                                  \
        struct vt_fortran_name s;                                                                                      \
        lower(vt_c_string(&s, name, n));                                                                               \
    }
COLLECTION(start_collection, START_COLLECTION, VT_User_section_start__)
COLLECTION(stop_collection, STOP_COLLECTION, VT_User_section_stop__)

#define TOFU(lower, upper, begins)                                                                                     \
    PUBLIC void lower(const char *name, int region, int level);                                                        \
    PUBLIC void lower(const char *name, int region, int level)                                                         \
    {                                                                                                                  \
        (void)name; /* not used: guide, 5.2.2 */                                                                       \
        if (VT_User_tofu_section__) VT_User_tofu_section__(region, level, begins);                                     \
    }                                                                                                                  \
    VT_FORTRAN_TAILED(lower, upper, (const char *name, const int *region, const int *level, int n))                    \
    {                                                                                                                  \
        (void)n;                                                                                                       \
        lower(name, *region, *level);                                                                                  \
    }
TOFU(fj_tofupa_start, FJ_TOFUPA_START, 1)
TOFU(fj_tofupa_stop, FJ_TOFUPA_STOP, 0)
