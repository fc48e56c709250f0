/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations shared by the files that record functions of Python. No header of Python is needed: Python objects are
   pointers, and all functions used are in the stable ABI or old. They are looked up in the process. */
#ifndef VT_PYTHON_H
#define VT_PYTHON_H

#define WEAK __attribute__((weak))

typedef struct object object;
typedef int profile_function(object *, object *, int, object *); /* Py_tracefunc */

extern void Py_IncRef(object *) WEAK;
extern void Py_DecRef(object *) WEAK;
extern object *PyObject_CallFunctionObjArgs(object *, ...) WEAK;
extern object *PyFrame_GetCode(object *) WEAK;
extern void PyErr_Clear(void) WEAK;
extern char _Py_NoneStruct[] WEAK;

/* Record the begin or end of a call. define: the function that defines a code object's region at its first call. */
void vt_python_enters(object *define, object *code);
void vt_python_leaves(object *code);

/* Says once, and states in the ledger, that calls of Python functions are missing. */
void vt_python_missing(const char *why);

/* Returns a new reference to None. */
object *vt_python_none(void);

#endif
