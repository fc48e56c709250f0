/* SPDX-License-Identifier: BSD-3-Clause */
/* Recording beside profilers of a Python program, which have precedence.

   Python before 3.12: a thread has one profile function. vtrace's function stands in front of the program's and calls
   it. A profiler may replace vtrace's function at any time, in Python (sys.setprofile) or in C (cProfile). An audit
   hook notices this, but before the change, so the interpreter's main thread looks again at its next pending call.
   sys.getprofile() returns the same object as without vtrace. While functions are left out (VT_BUDGET), threads have no
   profile function of vtrace: to call one takes longer than most functions. They get it back at an event of the audit
   hook, such as opening a file.
   Python 3.12 and newer: vtrace is a tool of sys.monitoring and leaves its number to a program that asks for it. */
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "python.h"
#include "userwrap.h"

#define OWN _Thread_local __attribute__((tls_model("initial-exec")))

extern object *PyObject_Call(object *, object *, object *) WEAK;
extern object *PyObject_CallObject(object *, object *) WEAK;
extern object *PyTuple_GetItem(object *, long) WEAK;
extern object *PyTuple_GetSlice(object *, long, long) WEAK;
extern long PyTuple_Size(object *) WEAK;
extern int PyCallable_Check(object *) WEAK;
extern object *PyFrame_GetBack(object *) WEAK;
extern object *PyEval_GetFrame(void) WEAK;
extern void **PyThreadState_Get(void) WEAK;
extern void PyEval_SetProfile(profile_function *, object *) WEAK;
extern int PySys_AddAuditHook(int (*)(const char *, object *, void *), void *) WEAK;
extern int Py_AddPendingCall(int (*)(void *), void *) WEAK;

/* Values of PyTrace_CALL and so on. */
enum { TRACE_CALL = 0, TRACE_RETURN = 3, TRACE_C_EXCEPTION = 5, TRACE_C_RETURN = 6 };

#define DEEPEST 100 /* calls that are entered again */

static const char replaced[] = "a profiler of the program runs in their place; from Python 3.12 on both do";

/* ---- The profile function of each thread ---- */

/* definer defines the region of a code object; thread_type(run, function) is what a new thread calls. */
static object *definer, *program_setprofile, *program_start_thread, *thread_type, *run;
static size_t place; /* of the member c_profilefunc in a PyThreadState, in words */
static OWN profile_function *next; /* the program's profile function */
static OWN int changing; /* vtrace changes the profile function */
static OWN int is_away; /* vtrace's function is away, since functions are left out */
static OWN int
    unseen; /* the program's function is new: without vtrace it would not see the end of the running C call */

static void record(int what, object *frame)
{
    object *code = PyFrame_GetCode(frame);
    if (what == TRACE_CALL) vt_python_enters(definer, code);
    else vt_python_leaves(code);
    Py_DecRef(code);
}

/* Ends the recorded calls that are open, the innermost first. */
static void go_away(object *frame, int what)
{
    void **state = PyThreadState_Get();
    object *f = frame;
    Py_IncRef(f);
    for (int begins = what == TRACE_CALL; f; begins = 0) {
        object *back = PyFrame_GetBack(f);
        if (!begins) record(TRACE_RETURN, f);
        Py_DecRef(f);
        f = back;
    }
    is_away = 1;
    changing++;
    if (next) memcpy(&state[place], &next, sizeof next);
    else PyEval_SetProfile(NULL, NULL);
    changing--;
    next = NULL;
}

static int profile(object *self, object *frame, int what, object *argument)
{
    profile_function *program = next;
    int skip = unseen && (what == TRACE_C_RETURN || what == TRACE_C_EXCEPTION), failed = 0;
    unseen = 0;
    vt_python_is_called();
    if (VT_UNLIKELY(atomic_load_explicit(&vt_python_all_out, memory_order_relaxed))) {
        go_away(frame, what);
        return program && !skip ? program(self, frame, what, argument) : 0;
    }
    if (what == TRACE_RETURN) record(what, frame);
    if (program && !skip) failed = program(self, frame, what, argument);
    if (what == TRACE_CALL && !failed) record(what, frame); /* if it has failed, the function does not begin */
    return failed;
}

static void set_profile(object *with)
{
    changing++;
    PyEval_SetProfile(profile, with);
    changing--;
}

/* Puts vtrace's function in front of the thread's profile function, if any. */
static void take_place(void)
{
    void **state = PyThreadState_Get();
    if (atomic_load(&vt_python_all_out)) {
        is_away = 1;
        return;
    }
    profile_function *there = NULL, *mine = profile;
    memcpy(&there, &state[place], sizeof there);
    if (there == mine) return;
    unseen = there && !next;
    next = there;
    if (there) memcpy(&state[place], &mine, sizeof mine);
    else set_profile(NULL);
}

/* Enters the calls of a frame's callers that are open, then its own. */
static void enter_open(object *frame, int depth)
{
    object *back = depth < DEEPEST ? PyFrame_GetBack(frame) : NULL;
    if (back) {
        enter_open(back, depth + 1);
        Py_DecRef(back);
    }
    record(TRACE_CALL, frame);
}

/* Functions are recorded again. */
static void come_back(void)
{
    object *frame = PyEval_GetFrame();
    is_away = 0;
    take_place();
    if (frame) enter_open(frame, 0);
}

static int look_again(void *unused)
{
    (void)unused;
    take_place();
    return 0;
}

/* The interpreter calls pending calls only in its main thread. */
static int audited(const char *event, object *arguments, void *unused)
{
    (void)arguments, (void)unused;
    if (VT_UNLIKELY(is_away)) {
        vt_python_is_quiet();
        if (!changing && !atomic_load(&vt_python_all_out)) come_back();
    }
    if (event[0] != 's' || changing || is_away || strcmp(event, "sys.setprofile") != 0) return 0;
    if (VT_SYS0(gettid) != VT_SYS0(getpid) || Py_AddPendingCall(look_again, NULL)) vt_python_missing(replaced);
    return 0;
}

/* Remembers Python's own functions and the other objects, for all interpreters of the process. */
VT_PUBLIC void vt_python_profile_objects(object *define, object *setprofile, object *start_thread, object *type,
                                         object *thread)
{
    if (definer) return;
    Py_IncRef(definer = define);
    Py_IncRef(program_setprofile = setprofile);
    Py_IncRef(program_start_thread = start_thread);
    Py_IncRef(thread_type = type);
    Py_IncRef(run = thread);
}

/* Begins recording. Returns 0 if this Python's thread states are unknown. define: any object. */
VT_PUBLIC int vt_python_profile_start(object *define)
{
    profile_function *mine = profile;
    if (!PyEval_SetProfile || !PyThreadState_Get || !PySys_AddAuditHook || !Py_AddPendingCall || !PyFrame_GetBack ||
        !PyEval_GetFrame)
        return 0;
    set_profile(define);
    void **state = PyThreadState_Get();
    for (size_t i = 0; i < 24 && !place; i++) /* c_profilefunc, c_tracefunc, c_profileobj */
        if (!memcmp(&state[i], &mine, sizeof mine) && state[i + 2] == (void *)define) place = i;
    changing++;
    PyEval_SetProfile(place ? mine : NULL, NULL);
    changing--;
    return place && !PySys_AddAuditHook(audited, NULL);
}

/* METH_O, in place of sys.setprofile. */
VT_PUBLIC object *vt_python_setprofile(object *self, object *function)
{
    (void)self;
    if (function == (object *)(void *)_Py_NoneStruct) {
        next = NULL;
        changing++; /* at this event of the audit hook functions do not come back */
        PyEval_SetProfile(is_away ? NULL : profile, NULL);
        changing--;
        return vt_python_none();
    }
    if (is_away && !atomic_load(&vt_python_all_out)) come_back();
    changing++;
    object *answer = PyObject_CallFunctionObjArgs(program_setprofile, function, (void *)0);
    if (answer) take_place();
    changing--;
    return answer;
}

/* METH_NOARGS: at exit. A profiler may have written into the thread state. */
VT_PUBLIC object *vt_python_profile_end(object *self, object *unused)
{
    profile_function *mine = profile;
    (void)self, (void)unused;
    if (!is_away && memcmp(&PyThreadState_Get()[place], &mine, sizeof mine) != 0) vt_python_missing(replaced);
    return vt_python_none();
}

/* METH_VARARGS | METH_KEYWORDS: what a new thread calls. The first argument is the program's function. */
VT_PUBLIC object *vt_python_thread(object *self, object *arguments, object *keywords)
{
    object *rest = PyTuple_GetSlice(arguments, 1, PyTuple_Size(arguments));
    if (!rest) return NULL;
    take_place();
    object *answer = PyObject_Call(PyTuple_GetItem(arguments, 0), rest, keywords);
    Py_DecRef(rest);
    (void)self;
    return answer;
}

/* METH_VARARGS, in place of _thread.start_new_thread. */
VT_PUBLIC object *vt_python_start_thread(object *self, object *arguments)
{
    long n = PyTuple_Size(arguments);
    object *function = n == 2 || n == 3 ? PyTuple_GetItem(arguments, 0) : NULL;
    (void)self;
    if (!function || !PyCallable_Check(function)) return PyObject_CallObject(program_start_thread, arguments);
    function = PyObject_CallFunctionObjArgs(thread_type, run, function, (void *)0);
    if (!function) return NULL;
    object *keywords = n == 3 ? PyTuple_GetItem(arguments, 2) : NULL;
    object *answer = PyObject_CallFunctionObjArgs(program_start_thread, function, PyTuple_GetItem(arguments, 1),
                                                  keywords, (void *)0);
    Py_DecRef(function);
    return answer;
}

/* METH_VARARGS, in place of sys.monitoring.use_tool_id. self: the tuple of a function to call before, and that
   function. */
VT_PUBLIC object *vt_python_use_tool(object *self, object *arguments)
{
    object *answer = PyObject_CallObject(PyTuple_GetItem(self, 0), arguments);
    if (answer) Py_DecRef(answer);
    else PyErr_Clear();
    return PyObject_CallObject(PyTuple_GetItem(self, 1), arguments);
}
