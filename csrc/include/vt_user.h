/* SPDX-License-Identifier: BSD-3-Clause */
/* The user API of vtrace for C and C++, with the names of VampirTrace's user API. docs/user-api.md explains each macro.

   - With -DVTRACE the macros record.
   - Without -DVTRACE the macros are empty. Macros that return an id are 0, and VT_IS_ON() is 1.
   - -DVTRACE_NO_REGION (_CONTROL, _COUNT, _MARKER, _COMMENT, _MSG, _SECTION) disables one family of macros.
   - In a program that is linked without vtrace the macros do nothing.
   - With -DVTRACE the compiler must know GNU attributes, as gcc and clang do.

   libvtrace.so.1 (csrc/userwrap) owns all names and ids. A macro owns only a static variable at its place in the source
   code, which keeps the id of a region. All threads that look up the name store the same id, so the variable needs no
   lock. The functions VT_User_... and the values of the macros are fixed: programs built with an older header run with a
   newer library. Any thread and any signal handler may call the macros. */
#ifndef VT_USER_H
#define VT_USER_H

#define VT_COUNT_DEFGROUP 0xffffffffu
#define VT_COUNT_TYPE_SIGNED 1
#define VT_COUNT_TYPE_UNSIGNED 2
#define VT_COUNT_TYPE_FLOAT 3
#define VT_COUNT_TYPE_DOUBLE 4
#define VT_COUNT_TYPE_INTEGER 11
#define VT_COUNT_TYPE_INTEGER8 12
#define VT_COUNT_TYPE_REAL 13
#define VT_MARKER_TYPE_ERROR 1
#define VT_MARKER_TYPE_WARNING 2
#define VT_MARKER_TYPE_HINT 3
#define VT_MSG_DEFCOMM 0xffffffffu

#ifdef VTRACE
#ifndef __GNUC__
#error "vt_user.h needs a compiler that knows GNU attributes: compile without -DVTRACE"
#endif

/* Weak symbols: without libvtrace.so.1 the functions are NULL, so a program links without the library. */
#define VT_USER_WEAK_ __attribute__((weak))

#ifdef __cplusplus
extern "C" {
#endif
/* Programs use the macros below, not these functions. A result of type unsigned int is an id. type: VT_COUNT_TYPE_...
   or VT_MARKER_TYPE_...; bytes: size of a message. */
void VT_User_start__(const char *name, const char *file, int line) VT_USER_WEAK_;
void VT_User_end__(const char *name) VT_USER_WEAK_;
unsigned int VT_User_def__(const char *name, const char *group, const char *file, int line) VT_USER_WEAK_;
void VT_User_start2__(unsigned int id) VT_USER_WEAK_;
void VT_User_end2__(unsigned int id) VT_USER_WEAK_;
/* Returns the id of the region with this name. file: source file of the region, or NULL if unknown. *site: receives the
   id, for the next call at the same place; site may be NULL. */
unsigned int VT_User_region__(const char *name, const char *file, int line, unsigned int *site) VT_USER_WEAK_;
int VT_User_is_trace_on__(void) VT_USER_WEAK_;
void VT_User_trace_on__(void) VT_USER_WEAK_;
void VT_User_trace_off__(void) VT_USER_WEAK_;
void VT_User_functions__(const char *patterns) VT_USER_WEAK_;
void VT_User_buffer_flush__(void) VT_USER_WEAK_;
void VT_User_timesync__(void) VT_USER_WEAK_;
void VT_User_update_counter__(void) VT_USER_WEAK_;
void VT_User_set_rewind_mark__(void) VT_USER_WEAK_;
void VT_User_rewind__(void) VT_USER_WEAK_;
void VT_User_comment_def__(const char *text) VT_USER_WEAK_;
void VT_User_comment__(const char *text) VT_USER_WEAK_;
unsigned int VT_User_count_group_def__(const char *name) VT_USER_WEAK_;
unsigned int VT_User_count_def__(const char *name, const char *unit, int type, unsigned int group) VT_USER_WEAK_;
void VT_User_count_signed_val__(unsigned int id, __INT64_TYPE__ value) VT_USER_WEAK_;
void VT_User_count_unsigned_val__(unsigned int id, __UINT64_TYPE__ value) VT_USER_WEAK_;
void VT_User_count_float_val__(unsigned int id, float value) VT_USER_WEAK_;
void VT_User_count_double_val__(unsigned int id, double value) VT_USER_WEAK_;
unsigned int VT_User_marker_def__(const char *name, int type) VT_USER_WEAK_;
void VT_User_marker__(unsigned int id, const char *text) VT_USER_WEAK_;
unsigned int VT_User_msg_comm_def__(const char *name) VT_USER_WEAK_;
void VT_User_msg_send__(unsigned int comm, unsigned int tag, unsigned int bytes) VT_USER_WEAK_;
void VT_User_msg_recv__(unsigned int comm, unsigned int tag, unsigned int bytes) VT_USER_WEAK_;
/* A section is measured if its level is at most VT_SECTION_LEVEL. The first function returns the id of a section, 0 if
   the section is not measured. *site: as in VT_User_region__. */
unsigned int VT_User_section__(const char *name, int number, int level, unsigned int *site) VT_USER_WEAK_;
void VT_User_section_start2__(unsigned int id, int level) VT_USER_WEAK_;
void VT_User_section_stop2__(unsigned int id, int level) VT_USER_WEAK_;
void VT_User_section_start__(const char *name, int number, int level) VT_USER_WEAK_;
void VT_User_section_stop__(const char *name, int number, int level) VT_USER_WEAK_;
#ifdef __cplusplus
}
#endif

#define VT_USER_CALL_(function, arguments)                                                                             \
    do {                                                                                                               \
        if (function) function arguments;                                                                              \
    } while (0)
#define VT_USER_VALUE_(function, arguments) (function ? function arguments : 0u)

/* A name that is a constant is looked up once for each place in the source code. */
#define VT_USER_KNOWN_(site) __atomic_load_n(&(site), __ATOMIC_RELAXED)
#define VT_USER_REGION_(site, name, file, line)                                                                        \
    (!__builtin_constant_p(name) ? VT_User_region__(name, file, line, 0)                                               \
     : VT_USER_KNOWN_(site)      ? VT_USER_KNOWN_(site)                                                                \
                                 : VT_User_region__(name, file, line, &(site)))
#define VT_USER_AT_(function, name, file, line)                                                                        \
    do {                                                                                                               \
        static unsigned int vt_user_site_;                                                                             \
        if (function) function(VT_USER_REGION_(vt_user_site_, name, file, line));                                      \
    } while (0)
#endif

/* ---- Regions ---- */
#if defined(VTRACE) && !defined(VTRACE_NO_REGION)
#define VT_USER_START_AT_(name, file, line) VT_USER_AT_(VT_User_start2__, name, file, line)
#define VT_USER_END(name) VT_USER_AT_(VT_User_end2__, name, 0, 0)
#define VT_USER_DEF(name, group, file, line) VT_USER_VALUE_(VT_User_def__, (name, group, file, line))
#define VT_USER_START2(id) VT_USER_CALL_(VT_User_start2__, (id))
#define VT_USER_END2(id) VT_USER_CALL_(VT_User_end2__, (id))
#else
#define VT_USER_START_AT_(name, file, line)
#define VT_USER_END(name)
#define VT_USER_DEF(name, group, file, line) 0
#define VT_USER_START2(id)
#define VT_USER_END2(id)
#endif
#define VT_USER_START(name) VT_USER_START_AT_(name, __FILE__, __LINE__)

/* VT_TRACER(name) or VT_TRACER(id): enters the region here and leaves the region at the end of the scope, also by
   return or exception. */
#ifdef __cplusplus
#if defined(VTRACE) && !defined(VTRACE_NO_REGION)
#define __VT_NOINST_ATTR __attribute__((no_instrument_function))
#define VT_USER_INLINE_ __attribute__((always_inline, no_instrument_function))
class VT_User_tracer__
{
  public:
    VT_USER_INLINE_ explicit VT_User_tracer__(unsigned int region) : id(region)
    {
        if (VT_User_start2__) VT_User_start2__(id);
    }
    VT_USER_INLINE_ ~VT_User_tracer__()
    {
        if (VT_User_end2__) VT_User_end2__(id);
    }

  private:
    unsigned int id;
    VT_User_tracer__(const VT_User_tracer__ &);
    VT_User_tracer__ &operator=(const VT_User_tracer__ &);
};
static inline VT_USER_INLINE_ unsigned int VT_User_tracer_id__(unsigned int &site, const char *name, const char *file,
                                                               int line, bool constant)
{
    if (!VT_User_region__) return 0;
    unsigned int known = constant ? __atomic_load_n(&site, __ATOMIC_RELAXED) : 0;
    return known ? known : VT_User_region__(name, file, line, constant ? &site : 0);
}
static inline VT_USER_INLINE_ unsigned int VT_User_tracer_id__(unsigned int &, unsigned int id, const char *, int, bool)
{
    return id;
}
#define VT_USER_JOIN2_(a, b) a##b
#define VT_USER_JOIN_(a, b) VT_USER_JOIN2_(a, b)
#define VT_TRACER(name)                                                                                                \
    static unsigned int VT_USER_JOIN_(vt_user_site_, __LINE__) = 0;                                                    \
    VT_User_tracer__ VT_USER_JOIN_(vt_user_tracer_, __LINE__)(VT_User_tracer_id__(                                     \
        VT_USER_JOIN_(vt_user_site_, __LINE__), name, __FILE__, __LINE__, __builtin_constant_p(name)))
#else
#define VT_TRACER(name)
#endif
#endif

/* ---- Control ---- */
#if defined(VTRACE) && !defined(VTRACE_NO_CONTROL)
#define VT_ON() VT_USER_CALL_(VT_User_trace_on__, ())
#define VT_OFF() VT_USER_CALL_(VT_User_trace_off__, ())
#define VT_FUNCTIONS(patterns) VT_USER_CALL_(VT_User_functions__, (patterns))
#define VT_IS_ON() (VT_User_is_trace_on__ ? VT_User_is_trace_on__() : 1)
#define VT_BUFFER_FLUSH() VT_USER_CALL_(VT_User_buffer_flush__, ())
#define VT_TIMESYNC() VT_USER_CALL_(VT_User_timesync__, ())
#define VT_UPDATE_COUNTER() VT_USER_CALL_(VT_User_update_counter__, ())
#define VT_SET_REWIND_MARK() VT_USER_CALL_(VT_User_set_rewind_mark__, ())
#define VT_REWIND() VT_USER_CALL_(VT_User_rewind__, ())
#else
#define VT_ON()
#define VT_OFF()
#define VT_FUNCTIONS(patterns)
#define VT_IS_ON() 1
#define VT_BUFFER_FLUSH()
#define VT_TIMESYNC()
#define VT_UPDATE_COUNTER()
#define VT_SET_REWIND_MARK()
#define VT_REWIND()
#endif

/* ---- Comments: VT_COMMENT_DEF on the whole run, VT_COMMENT with a time ---- */
#if defined(VTRACE) && !defined(VTRACE_NO_COMMENT)
#define VT_COMMENT_DEF(text) VT_USER_CALL_(VT_User_comment_def__, (text))
#define VT_COMMENT(text) VT_USER_CALL_(VT_User_comment__, (text))
#else
#define VT_COMMENT_DEF(text)
#define VT_COMMENT(text)
#endif

/* ---- Counters ---- */
#if defined(VTRACE) && !defined(VTRACE_NO_COUNT)
#define VT_COUNT_GROUP_DEF(name) VT_USER_VALUE_(VT_User_count_group_def__, (name))
#define VT_COUNT_DEF(name, unit, type, group) VT_USER_VALUE_(VT_User_count_def__, (name, unit, type, group))
#define VT_COUNT_SIGNED_VAL(id, value) VT_USER_CALL_(VT_User_count_signed_val__, (id, value))
#define VT_COUNT_UNSIGNED_VAL(id, value) VT_USER_CALL_(VT_User_count_unsigned_val__, (id, value))
#define VT_COUNT_FLOAT_VAL(id, value) VT_USER_CALL_(VT_User_count_float_val__, (id, value))
#define VT_COUNT_DOUBLE_VAL(id, value) VT_USER_CALL_(VT_User_count_double_val__, (id, value))
#else
#define VT_COUNT_GROUP_DEF(name) 0
#define VT_COUNT_DEF(name, unit, type, group) 0
#define VT_COUNT_SIGNED_VAL(id, value)
#define VT_COUNT_UNSIGNED_VAL(id, value)
#define VT_COUNT_FLOAT_VAL(id, value)
#define VT_COUNT_DOUBLE_VAL(id, value)
#endif

/* ---- Markers ---- */
#if defined(VTRACE) && !defined(VTRACE_NO_MARKER)
#define VT_MARKER_DEF(name, type) VT_USER_VALUE_(VT_User_marker_def__, (name, type))
#define VT_MARKER(id, text) VT_USER_CALL_(VT_User_marker__, (id, text))
#else
#define VT_MARKER_DEF(name, type) 0
#define VT_MARKER(id, text)
#endif

/* ---- Sections: a name and a number; they may nest and overlap ---- */
#if defined(VTRACE) && !defined(VTRACE_NO_SECTION)
/* A name and a number that are constants are looked up once for each place in the source code. */
#define VT_USER_SECTION_AT_(function, name, number, level)                                                             \
    do {                                                                                                               \
        static unsigned int vt_user_site_;                                                                             \
        int vt_user_fixed_ = __builtin_constant_p(name) && __builtin_constant_p(number), vt_user_level_ = (level);     \
        unsigned int vt_user_id_ = vt_user_fixed_ ? VT_USER_KNOWN_(vt_user_site_) : 0;                                 \
        if (!(function)) break;                                                                                        \
        if (!vt_user_id_)                                                                                              \
            vt_user_id_ = VT_User_section__(name, number, vt_user_level_, vt_user_fixed_ ? &vt_user_site_ : 0);        \
        function(vt_user_id_, vt_user_level_);                                                                         \
    } while (0)
#define VT_SECTION_START(name, number, level) VT_USER_SECTION_AT_(VT_User_section_start2__, name, number, level)
#define VT_SECTION_STOP(name, number, level) VT_USER_SECTION_AT_(VT_User_section_stop2__, name, number, level)
#else
#define VT_SECTION_START(name, number, level)
#define VT_SECTION_STOP(name, number, level)
#endif

/* ---- User-defined messages: VT_MSG_SEND and VT_MSG_RECV have the same tag, unique in the communicator ---- */
#if defined(VTRACE) && !defined(VTRACE_NO_MSG)
#define VT_MSG_COMM_DEF(name) VT_USER_VALUE_(VT_User_msg_comm_def__, (name))
#define VT_MSG_SEND(comm, tag, bytes) VT_USER_CALL_(VT_User_msg_send__, (comm, tag, bytes))
#define VT_MSG_RECV(comm, tag, bytes) VT_USER_CALL_(VT_User_msg_recv__, (comm, tag, bytes))
#else
#define VT_MSG_COMM_DEF(name) 0
#define VT_MSG_SEND(comm, tag, bytes)
#define VT_MSG_RECV(comm, tag, bytes)
#endif
#define VT_COMM_WORLD VT_MSG_DEFCOMM
#define VT_COMM_DEF(name) VT_MSG_COMM_DEF(name)
#define VT_SEND(comm, tag, bytes) VT_MSG_SEND(comm, tag, bytes)
#define VT_RECV(comm, tag, bytes) VT_MSG_RECV(comm, tag, bytes)

#endif
