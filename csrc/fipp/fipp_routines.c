/* SPDX-License-Identifier: BSD-3-Clause */
/* libfipp.a: the section routines of the Instant Profiler as functions, for Fortran, and for C and C++ that declares
   them without fj_tool/fipp.h. A separate library, not a part of libvtrace.so.1, since a site may have the original. */
#define PUBLIC __attribute__((visibility("default")))

void VT_User_sample_section__(int begins) __attribute__((weak));

/* lower: the name in C, also with the underscores that Fortran compilers append. */
#define ROUTINE(lower, upper, begins)                                                                                  \
    PUBLIC void lower(void);                                                                                           \
    PUBLIC void lower##_(void) __attribute__((alias(#lower)));                                                         \
    PUBLIC void lower##__(void) __attribute__((alias(#lower)));                                                        \
    PUBLIC void upper(void) __attribute__((alias(#lower)));                                                            \
    PUBLIC void lower(void)                                                                                            \
    {                                                                                                                  \
        if (VT_User_sample_section__) VT_User_sample_section__(begins);                                                \
    }

ROUTINE(fipp_start, FIPP_START, 1)
ROUTINE(fipp_stop, FIPP_STOP, 0)
