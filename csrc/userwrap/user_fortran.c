/* SPDX-License-Identifier: BSD-3-Clause */
/* Entry points of include/vt_user.inc. The names are those that compilers make of VT_User_start__. This file is part of
   libvtrace.so.1. The file is also the only one in libvtrace-user.a, for programs that are linked without vtrace:
   Fortran has no weak references, so these functions use them. */
#define VTRACE
#include "../include/vt_user.h"
#include "fortran_names.h"

#define PUBLIC __attribute__((visibility("default")))

/* Fortran macros have no room for file and line, so vtunify finds both by the address of the call. See userwrap.h. */
unsigned int VT_User_region_at__(const char *name, const char *group, const void *code) VT_USER_WEAK_;
#define HERE __builtin_return_address(0)

/* All spellings, and the plain one. */
#define FORTRAN(lower, upper, parameters)                                                                              \
    PUBLIC void lower parameters __attribute__((alias(#lower "_")));                                                   \
    VT_FORTRAN_TAILED(lower, upper, parameters)

#define WITH(function, ...)                                                                                            \
    do {                                                                                                               \
        if (function) function(__VA_ARGS__);                                                                           \
    } while (0)
#define VALUE(function, ...) (int)(function ? function(__VA_ARGS__) : 0u)

FORTRAN(vt_user_start__, VT_USER_START__, (const char *name, int n))
{
    struct vt_fortran_name s;
    if (VT_User_region_at__) VT_User_start2__(VT_User_region_at__(vt_c_string(&s, name, n), 0, HERE));
}

FORTRAN(vt_user_end__, VT_USER_END__, (const char *name, int n))
{
    struct vt_fortran_name s;
    WITH(VT_User_end__, vt_c_string(&s, name, n));
}

FORTRAN(vt_user_def__, VT_USER_DEF__, (const char *name, const char *group, int *id, int n, int ngroup))
{
    struct vt_fortran_name s, g;
    *id = VALUE(VT_User_region_at__, vt_c_string(&s, name, n), vt_c_string(&g, group, ngroup), HERE);
}

FORTRAN(vt_user_start2__, VT_USER_START2__, (const int *id)) { WITH(VT_User_start2__, (unsigned int)*id); }
FORTRAN(vt_user_end2__, VT_USER_END2__, (const int *id)) { WITH(VT_User_end2__, (unsigned int)*id); }

#define PLAIN(lower, upper, function)                                                                                  \
    FORTRAN(lower, upper, (void))                                                                                      \
    {                                                                                                                  \
        if (function) function();                                                                                      \
    }
PLAIN(vt_user_trace_on__, VT_USER_TRACE_ON__, VT_User_trace_on__)
PLAIN(vt_user_trace_off__, VT_USER_TRACE_OFF__, VT_User_trace_off__)
PLAIN(vt_user_buffer_flush__, VT_USER_BUFFER_FLUSH__, VT_User_buffer_flush__)
PLAIN(vt_user_timesync__, VT_USER_TIMESYNC__, VT_User_timesync__)
PLAIN(vt_user_update_counter__, VT_USER_UPDATE_COUNTER__, VT_User_update_counter__)
PLAIN(vt_user_set_rewind_mark__, VT_USER_SET_REWIND_MARK__, VT_User_set_rewind_mark__)
PLAIN(vt_user_rewind__, VT_USER_REWIND__, VT_User_rewind__)

FORTRAN(vt_user_is_trace_on__, VT_USER_IS_TRACE_ON__, (int *on))
{
    *on = VT_User_is_trace_on__ ? VT_User_is_trace_on__() : 1;
}

FORTRAN(vt_user_functions__, VT_USER_FUNCTIONS__, (const char *patterns, int n))
{
    struct vt_fortran_name s;
    WITH(VT_User_functions__, vt_c_string(&s, patterns, n));
}

FORTRAN(vt_user_comment_def__, VT_USER_COMMENT_DEF__, (const char *text, int n))
{
    struct vt_fortran_name s;
    WITH(VT_User_comment_def__, vt_c_string(&s, text, n));
}

FORTRAN(vt_user_comment__, VT_USER_COMMENT__, (const char *text, int n))
{
    struct vt_fortran_name s;
    WITH(VT_User_comment__, vt_c_string(&s, text, n));
}

FORTRAN(vt_user_count_group_def__, VT_USER_COUNT_GROUP_DEF__, (const char *name, int *id, int n))
{
    struct vt_fortran_name s;
    *id = VALUE(VT_User_count_group_def__, vt_c_string(&s, name, n));
}

FORTRAN(vt_user_count_def__, VT_USER_COUNT_DEF__,
        (const char *name, const char *unit, const int *type, const int *group, int *id, int n, int nunit))
{
    struct vt_fortran_name s, u;
    *id =
        VALUE(VT_User_count_def__, vt_c_string(&s, name, n), vt_c_string(&u, unit, nunit), *type, (unsigned int)*group);
}

FORTRAN(vt_user_count_integer_val__, VT_USER_COUNT_INTEGER_VAL__, (const int *id, const int *value))
{
    WITH(VT_User_count_signed_val__, (unsigned int)*id, *value);
}

FORTRAN(vt_user_count_integer8_val__, VT_USER_COUNT_INTEGER8_VAL__, (const int *id, const long long *value))
{
    WITH(VT_User_count_signed_val__, (unsigned int)*id, *value);
}

FORTRAN(vt_user_count_real_val__, VT_USER_COUNT_REAL_VAL__, (const int *id, const float *value))
{
    WITH(VT_User_count_float_val__, (unsigned int)*id, *value);
}

FORTRAN(vt_user_count_double_val__, VT_USER_COUNT_DOUBLE_VAL__, (const int *id, const double *value))
{
    WITH(VT_User_count_double_val__, (unsigned int)*id, *value);
}

FORTRAN(vt_user_marker_def__, VT_USER_MARKER_DEF__, (const char *name, const int *type, int *id, int n))
{
    struct vt_fortran_name s;
    *id = VALUE(VT_User_marker_def__, vt_c_string(&s, name, n), *type);
}

FORTRAN(vt_user_marker__, VT_USER_MARKER__, (const int *id, const char *text, int n))
{
    struct vt_fortran_name s;
    WITH(VT_User_marker__, (unsigned int)*id, vt_c_string(&s, text, n));
}

FORTRAN(vt_user_section_start__, VT_USER_SECTION_START__,
        (const char *name, const int *number, const int *level, int n))
{
    struct vt_fortran_name s;
    WITH(VT_User_section_start__, vt_c_string(&s, name, n), *number, *level);
}

FORTRAN(vt_user_section_stop__, VT_USER_SECTION_STOP__, (const char *name, const int *number, const int *level, int n))
{
    struct vt_fortran_name s;
    WITH(VT_User_section_stop__, vt_c_string(&s, name, n), *number, *level);
}

FORTRAN(vt_user_msg_comm_def__, VT_USER_MSG_COMM_DEF__, (const char *name, int *id, int n))
{
    struct vt_fortran_name s;
    *id = VALUE(VT_User_msg_comm_def__, vt_c_string(&s, name, n));
}

FORTRAN(vt_user_msg_send__, VT_USER_MSG_SEND__, (const int *comm, const int *tag, const int *bytes))
{
    WITH(VT_User_msg_send__, (unsigned int)*comm, (unsigned int)*tag, (unsigned int)*bytes);
}

FORTRAN(vt_user_msg_recv__, VT_USER_MSG_RECV__, (const int *comm, const int *tag, const int *bytes))
{
    WITH(VT_User_msg_recv__, (unsigned int)*comm, (unsigned int)*tag, (unsigned int)*bytes);
}
