/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations shared by the files that record functions of Python. No header of Python is needed: Python objects are
   pointers, and all functions used are in the stable ABI or old. They are looked up in the process. */
#ifndef VT_PYTHON_H
#define VT_PYTHON_H

#include <stdint.h>

#define WEAK __attribute__((weak))

typedef struct object object;
typedef int profile_function(object *, object *, int, object *); /* Py_tracefunc */

extern void Py_IncRef(object *) WEAK;
extern void Py_DecRef(object *) WEAK;
extern object *PyObject_CallFunctionObjArgs(object *, ...) WEAK;
extern object *PyFrame_GetCode(object *) WEAK;
extern void PyErr_Clear(void) WEAK;
extern char _Py_NoneStruct[] WEAK;

enum vt_python_event {
    VT_PYTHON_RECORDED,
    VT_PYTHON_LEFT_OUT,
    VT_PYTHON_ENDS /* the interpreter need not call vtrace for this event again */
};

/* Record the begin or end of a call. define: the function that defines a code object's region at its first call. */
enum vt_python_event vt_python_enters(object *define, object *code);
enum vt_python_event vt_python_leaves(object *code);

/* python_left_out.c: counts the time of an event, recorded or not. */
void vt_python_is_called(void);
/* The same file: looks from time to time if functions may return, in a thread without events. */
void vt_python_is_quiet(void);
/* The same file: decide if an event is recorded, and count the open calls. region: of the function. */
enum vt_python_event vt_python_judge_enter(uint32_t region);
enum vt_python_event vt_python_judge_leave(uint32_t region);

/* Says once, and states in the ledger, that calls of Python functions are missing. */
void vt_python_missing(const char *why);

/* Returns a new reference to None. */
object *vt_python_none(void);

#endif
