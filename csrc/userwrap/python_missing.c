/* SPDX-License-Identifier: BSD-3-Clause */
/* Python functions that are not recorded although VT_PYTRACE asks for them: one line and a row of the ledger. */
#include <stdlib.h>
#include "python.h"
#include "userwrap.h"

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
