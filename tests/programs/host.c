/* SPDX-License-Identifier: BSD-3-Clause */
/* host LIBRARY: not traced itself. A thread calls entry of LIBRARY once; LIBRARY is unloaded while the thread runs.
   Prints "unloaded". Exit code 5. */
#include "program.h"

static void (*entry)(int);
static pthread_barrier_t meeting;

static void *body(void *unused)
{
    entry(1);
    pthread_barrier_wait(&meeting);
    pthread_barrier_wait(&meeting);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : 0;
    if (!library) return 1;
    *(void **)&entry = dlsym(library, "entry");
    pthread_barrier_init(&meeting, 0, 2);
    if (!entry || pthread_create(&thread, 0, body, 0)) return 1;
    pthread_barrier_wait(&meeting);
    dlclose(library);
    puts("unloaded");
    pthread_barrier_wait(&meeting);
    pthread_join(thread, 0);
    return 5;
}
