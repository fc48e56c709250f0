// SPDX-License-Identifier: BSD-3-Clause
// user_rewind CASE [N]: events that VT_REWIND discards, and events that it keeps.
#include "vt_user.h"
#include "program.h"

/* First called in the discarded part, and again after it. */
static __attribute__((noinline)) void helps(void) { __asm__ volatile(""); }

static void pairs(const char *name, long n)
{
    for (long i = 0; i < n; i++) {
        VT_USER_START(name);
        if (*name != 'b') helps();
        VT_USER_END(name);
    }
}

static __attribute__((noinline)) void marks(void)
{
    VT_USER_START("marks");
    VT_SET_REWIND_MARK();
    pairs("gone", 1);
    VT_USER_END("marks");
}

static __attribute__((noinline)) void rewinds(void)
{
    VT_USER_START("rewinds");
    pairs("gone", 1);
    VT_REWIND();
    VT_USER_END("rewinds");
}

static void off(int before)
{
    if (before) VT_OFF();
    VT_SET_REWIND_MARK();
    pairs("gone", 1);
    if (before) VT_ON();
    else VT_OFF();
    pairs("gone", 1);
    VT_REWIND();
    if (!before) pairs("unseen", 1);
    if (!before) VT_ON();
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    long n = argc > 2 ? atol(argv[2]) : 2;
    VT_USER_START("all");
    pairs("before", n);
    if (!strcmp(name, "plain") || !strcmp(name, "killed") || !strcmp(name, "late")) {
        VT_SET_REWIND_MARK();
        pairs("gone", n);
        if (!strcmp(name, "late")) VT_BUFFER_FLUSH();
        VT_REWIND();
        if (!strcmp(name, "killed")) raise(SIGKILL);
    } else if (!strcmp(name, "again")) {
        VT_SET_REWIND_MARK();
        for (int i = 0; i < 3; i++) {
            pairs("gone", n);
            VT_REWIND();
        }
    } else if (!strcmp(name, "sibling")) {
        marks();
        rewinds();
    } else if (!strcmp(name, "deeper")) {
        VT_SET_REWIND_MARK();
        pairs("gone", n);
        rewinds();
    } else if (!strcmp(name, "higher")) {
        marks();
        VT_REWIND();
    } else if (!strcmp(name, "unmarked")) VT_REWIND();
    else if (!strcmp(name, "off")) off(0);
    else if (!strcmp(name, "on")) off(1);
    pairs("after", n);
    VT_USER_END("all");
    return 0;
}
