/* SPDX-License-Identifier: BSD-3-Clause */
/* A plug-in with one function, WORK, that programs load and unload. */
#ifndef WORK
#define WORK plugin_work
#endif

int WORK(int n)
{
    volatile int i;
    for (i = 0; i < n; i++) continue;
    return i > 0;
}
