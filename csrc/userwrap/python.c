/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of Python programs. The interpreter calls this file when a function begins or ends, through sys.monitoring
   (3.12 and newer); python_profilers.c calls it before. The file also has enter and leave for vtrace.user.
   src/vtrace/python_functions.py installs these callbacks. */
#include <stdlib.h>
#include <string.h>
#include "python.h"
#include "userwrap.h"

#define SLOTS (1u << 18)
#define PROBES 64u
#define TOO_MANY (SLOTS / 2)

extern long PyLong_AsLong(object *) WEAK;
extern long long PyLong_AsLongLong(object *) WEAK;
extern double PyFloat_AsDouble(object *) WEAK;
extern object *PyErr_Occurred(void) WEAK;

object *vt_python_none(void)
{
    object *it = (object *)(void *)_Py_NoneStruct;
    Py_IncRef(it);
    return it;
}

/* ---- Code objects and their regions. Entries are never freed: define keeps a reference ---- */

static struct slot {
    object *_Atomic code;
    _Atomic uint32_t region; /* region + 1; 0: not known yet; 1: not recorded */
} *_Atomic slots;
static _Atomic uint32_t known;

static struct slot *slot_of(object *code, int make)
{
    struct slot *t = atomic_load_explicit(&slots, memory_order_acquire);
    if (!t) return NULL;
    uint64_t hash = (uint64_t)(uintptr_t)code * 0x9e3779b97f4a7c15u >> 20;
    for (uint32_t i = 0; i < PROBES; i++) {
        struct slot *s = &t[(hash + i) % SLOTS];
        object *there = atomic_load_explicit(&s->code, memory_order_acquire);
        if (there == code) return s;
        if (there) continue;
        if (!make || atomic_load(&known) >= TOO_MANY) return NULL;
        if (!atomic_compare_exchange_strong(&s->code, &there, code)) {
            if (there == code) return s;
            continue;
        }
        atomic_fetch_add(&known, 1);
        return s;
    }
    return NULL;
}

/* Calls define(code), which returns the number of the region; 0 if it is not recorded. The interpreter makes no
   callbacks for functions that run meanwhile. */
static uint32_t ask(object *define, object *code)
{
    object *answer = PyObject_CallFunctionObjArgs(define, code, (void *)0);
    long region = answer ? PyLong_AsLong(answer) : 0;
    if (PyErr_Occurred()) PyErr_Clear();
    if (answer) Py_DecRef(answer);
    return region > 0 && (region & ~(long)VT_USER_HIDDEN) <= (long)VT_ID_MAX ? (uint32_t)region + 1 : 1;
}

static uint32_t region_of(object *define, object *code)
{
    struct slot *s = slot_of(code, 1);
    if (VT_UNLIKELY(!s)) {
        vt_warn_left_out("user", "more than %u Python functions: further functions are not recorded", TOO_MANY);
        return 0;
    }
    uint32_t region = atomic_load_explicit(&s->region, memory_order_relaxed);
    if (VT_UNLIKELY(!region)) {
        region = ask(define, code);
        atomic_store(&s->region, region);
    }
    return region - 1;
}

enum vt_python_event vt_python_enters(object *define, object *code)
{
    const uint32_t number = region_of(define, code), region = vt_user_begins(number);
    const enum vt_python_event event = region ? vt_python_judge_enter(number) : VT_PYTHON_LEFT_OUT;
    if (VT_LIKELY(event == VT_PYTHON_RECORDED)) vt_write_few(VT_HEAD(VT_K_ENTER, 0, region), 0, 0, 0, 0, 1);
    return event;
}

/* A function without an enter gets no leave: it began before the callbacks were installed. */
enum vt_python_event vt_python_leaves(object *code)
{
    struct slot *s = slot_of(code, 0);
    const uint32_t number = s ? atomic_load_explicit(&s->region, memory_order_relaxed) : 0;
    const uint32_t region = number > 1 ? vt_user_ends(number - 1) : 0;
    const enum vt_python_event event = region ? vt_python_judge_leave(number - 1) : VT_PYTHON_LEFT_OUT;
    if (VT_LIKELY(event == VT_PYTHON_RECORDED)) vt_write_few(VT_HEAD(VT_K_LEAVE, 0, region), 0, 0, 0, 0, 1);
    return event;
}

/* ---- Callbacks. PyCFunctions with METH_FASTCALL: self is define, the first argument is the code object ---- */

static object *disable, *restart; /* sys.monitoring.DISABLE and restart_events */
static _Atomic uint32_t seen; /* of vt_python_returned */

/* Functions that are left out may be recorded again: the interpreter calls vtrace again for each. */
static __attribute__((noinline)) void call_again(uint32_t returned)
{
    const int first = atomic_exchange(&seen, returned) != returned;
    object *answer = first && restart ? PyObject_CallFunctionObjArgs(restart, (void *)0) : NULL;
    if (answer) Py_DecRef(answer);
    if (PyErr_Occurred()) PyErr_Clear();
}

static object *answer_of(enum vt_python_event event)
{
    const uint32_t returned = atomic_load_explicit(&vt_python_returned, memory_order_relaxed);
    vt_python_is_called();
    if (VT_UNLIKELY(returned != atomic_load_explicit(&seen, memory_order_relaxed))) call_again(returned);
    if (VT_LIKELY(event != VT_PYTHON_ENDS || !disable)) return vt_python_none();
    Py_IncRef(disable);
    return disable;
}

VT_PUBLIC object *vt_python_begin(object *self, object *const *arguments, long n)
{
    return n > 0 ? answer_of(vt_python_enters(self, arguments[0])) : vt_python_none();
}

VT_PUBLIC object *vt_python_end(object *self, object *const *arguments, long n)
{
    (void)self;
    return n > 0 ? answer_of(vt_python_leaves(arguments[0])) : vt_python_none();
}

/* For events that an exception causes: the interpreter cannot leave them out. */
VT_PUBLIC object *vt_python_throw(object *self, object *const *arguments, long n)
{
    if (n > 0) vt_python_enters(self, arguments[0]);
    vt_python_is_called();
    return vt_python_none();
}

VT_PUBLIC object *vt_python_unwind(object *self, object *const *arguments, long n)
{
    (void)self;
    if (n > 0) vt_python_leaves(arguments[0]);
    vt_python_is_called();
    return vt_python_none();
}

VT_PUBLIC void vt_python_monitoring(object *disables, object *restarts)
{
    Py_IncRef(disable = disables);
    Py_IncRef(restart = restarts);
}

/* Returns 1 if functions may be left out later, because of the time that they take. */
VT_PUBLIC int vt_python_has_bound(void) { return vt_location_of_thread(0) && vt_process.set.overhead; }

/* ns: of the interpreter for each event; together: 1 if it cannot leave out single functions. */
VT_PUBLIC void vt_python_cost(double ns, int together) { vt_python_costs(ns, together); }

/* METH_NOARGS or METH_VARARGS: enter and leave of the region with the number self. */
VT_PUBLIC object *vt_python_enter(object *self, object *unused)
{
    (void)unused;
    VT_User_start2__((unsigned int)PyLong_AsLong(self));
    return vt_python_none();
}

VT_PUBLIC object *vt_python_leave(object *self, object *unused)
{
    (void)unused;
    VT_User_end2__((unsigned int)PyLong_AsLong(self));
    return vt_python_none();
}

/* METH_O: a value of the counter with the number self. A value that is not a number is ignored. */
VT_PUBLIC object *vt_python_count(object *self, object *value)
{
    double now = PyFloat_AsDouble(value);
    if (PyErr_Occurred()) PyErr_Clear();
    else VT_User_count_double_val__((unsigned int)PyLong_AsLong(self), now);
    return vt_python_none();
}

VT_PUBLIC object *vt_python_count_whole(object *self, object *value)
{
    long long now = PyLong_AsLongLong(value);
    if (PyErr_Occurred()) PyErr_Clear();
    else VT_User_count_signed_val__((unsigned int)PyLong_AsLong(self), now);
    return vt_python_none();
}

/* Returns 1 if all functions of Python that this file needs were found. */
VT_PUBLIC int vt_python_ready(void)
{
    int there = PyLong_AsLong && PyLong_AsLongLong && PyFloat_AsDouble && Py_IncRef && Py_DecRef && PyErr_Occurred &&
                PyErr_Clear && PyObject_CallFunctionObjArgs && PyFrame_GetCode && (uintptr_t)_Py_NoneStruct;
    return there && vt_pages_once((void **)&slots, SLOTS * sizeof(struct slot));
}

VT_PUBLIC unsigned int vt_python_region(const char *name, const char *file, int line)
{
    int64_t limit = vt_call_limit(name, "Python");
    if (!limit) return 0;
    const uint32_t id =
        vt_define_region(name, VT_PARADIGM_COMPILER, VT_ROLE_FUNCTION, file, file && line > 0 ? (uint32_t)line : 0);
    if (limit < 0) vt_python_define(id);
    return vt_user_limited(id, limit);
}

/* ---- Functions that are not recorded although VT_PYTRACE asks for them: one line and a row of the ledger ---- */

/* Flags of CPython, set when the interpreter starts. The last one is not set with PYTHONHASHSEED=0. */
extern int Py_NoSiteFlag WEAK, Py_IgnoreEnvironmentFlag WEAK, Py_HashRandomizationFlag WEAK;

static int wanted, loaded;

void vt_python_missing(const char *why)
{
    static _Atomic int told;
    struct vt_location *l = atomic_exchange(&told, 1) ? NULL : vt_location_of_thread(0);
    if (l) vt_define_property(l, "missing.python", why);
    vt_warn("Python functions are not recorded: %s", why);
}

VT_PUBLIC void vt_python_fails(const char *why) { vt_python_missing(why); }
VT_PUBLIC void vt_python_loaded(void) { loaded = 1; }

__attribute__((constructor)) static void note_setting(void)
{
    const char *text = getenv("VT_PYTRACE");
    wanted = text && vt_setting_yes(text) > 0;
}

/* A Python that did not load vtrace's hook (python_hook/sitecustomize.py). */
__attribute__((destructor)) static void look(void)
{
    if (!wanted || loaded || !&Py_NoSiteFlag || !&Py_IgnoreEnvironmentFlag || !&Py_HashRandomizationFlag) return;
    if (Py_NoSiteFlag || Py_IgnoreEnvironmentFlag)
        vt_python_missing("with -I, -E or -S Python does not load vtrace's hook");
    else if (Py_HashRandomizationFlag)
        vt_python_missing("PYTHONPATH lacks vtrace's hook; keep this variable for Python programs that you start");
}
