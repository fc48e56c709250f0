// SPDX-License-Identifier: BSD-3-Clause
// VT_TRACER ends its region for every way to leave the scope.
#include "vt_user.h"

static void throws()
{
    VT_TRACER("throws");
    throw 1;
}

static int returns(const char *name)
{
    VT_TRACER(name);
    for (int i = 0;; i++) {
        VT_TRACER("turn");
        if (i == 1) return i;
    }
}

template <typename T> static void of(T) { VT_TRACER("of"); }

int main()
{
    VT_TRACER("main scope");
    unsigned int id = VT_USER_DEF("defined", "", __FILE__, __LINE__);
    try {
        VT_TRACER(id);
        throws();
    } catch (int) {
    }
    VT_TRACER("second in a scope");
    of(1);
    of(1.0);
    char name[] = "named at run time";
    (void)id;
    return returns(name) - 1;
}
