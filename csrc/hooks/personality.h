/* SPDX-License-Identifier: BSD-3-Clause */
/* The personality routine of a language (Itanium C++ ABI, Exception Handling, 2.5.2), for programs and libraries that
   vtrace-cc links with --wrap. The routine reports to libvtrace.so.1 when an exception ends in a landing pad of a
   function: the calls that the function has made are over. Each routine is a separate member of libvtrace-inside.a,
   which the linker takes only if the program has landing pads. */
#ifndef VT_PERSONALITY_H
#define VT_PERSONALITY_H

#include <unwind.h>
#include "../core/core.h"

__typeof__(vt_land) vt_land __attribute__((weak)); /* NULL without libvtrace.so.1 */

#define VT_PERSONALITY(name)                                                                                           \
    _Unwind_Reason_Code __real_##name(int, _Unwind_Action, _Unwind_Exception_Class, struct _Unwind_Exception *,        \
                                      struct _Unwind_Context *);                                                       \
    _Unwind_Reason_Code __wrap_##name(int, _Unwind_Action, _Unwind_Exception_Class, struct _Unwind_Exception *,        \
                                      struct _Unwind_Context *);                                                       \
    _Unwind_Reason_Code __wrap_##name(int version, _Unwind_Action actions, _Unwind_Exception_Class class,              \
                                      struct _Unwind_Exception *exception, struct _Unwind_Context *context)            \
    {                                                                                                                  \
        _Unwind_Reason_Code result = __real_##name(version, actions, class, exception, context);                       \
        if (result == _URC_INSTALL_CONTEXT && vt_land) vt_land(_Unwind_GetCFA(context));                               \
        return result;                                                                                                 \
    }

#endif
