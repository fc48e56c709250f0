/* SPDX-License-Identifier: BSD-3-Clause */
/* The main thread is not traced, but a thread that it creates is: body 1 -> work 10. */
#include "program.h"

static volatile int sink;

KEEP void work(int i) { sink = i; }

KEEP void *body(void *unused)
{
    for (int i = 0; i < 10; i++) work(i);
    return unused;
}

QUIET int main(void)
{
    pthread_t thread;
    return pthread_create(&thread, 0, body, 0) || pthread_join(thread, 0);
}
