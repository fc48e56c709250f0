// SPDX-License-Identifier: BSD-3-Clause
// Regions that do not end, that have not begun, and that overlap; and the program's own functions and variables VT_...
#include <stdio.h>
#include "vt_user.h"

static int VT_State = 1;

static int VT_User_start(int x) { return x + VT_State; }

int VT_Enter(int x) { return VT_User_start(x); }

static void begins(void) { VT_USER_START("left by return"); }

int main(void)
{
    VT_USER_END("never begun");
    begins();
    VT_USER_START("a");
    VT_USER_START("b");
    VT_USER_END("a");
    VT_USER_END("b");
    VT_USER_START("open at the end");
    return VT_Enter(1) - 2;
}
