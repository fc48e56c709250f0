/* SPDX-License-Identifier: BSD-3-Clause */
/* Works before, in and after a section, in main and in a thread. Prints the time and the page faults of each thread from
   its first to its last statement. argv[1]: how the process ends. tests/integration/test_sections_whole_run.py reads
   this. */
#define _GNU_SOURCE
#include <vt_user.h>
#include "program.h"

#define PAGE 4096u
#define PAGES 300u

static void touch(void)
{
    const struct timespec pause = {0, 10000000};
    char *at = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) _exit(3);
    madvise(at, PAGES * PAGE, MADV_NOHUGEPAGE);
    for (unsigned i = 0; i < PAGES; i++) at[i * PAGE] = 1;
    nanosleep(&pause, NULL);
}

static void measure(long *ns, long *faults)
{
    struct timespec now;
    struct rusage used;
    clock_gettime(CLOCK_MONOTONIC, &now);
    getrusage(RUSAGE_THREAD, &used);
    *ns = now.tv_sec * 1000000000 + now.tv_nsec;
    *faults = used.ru_minflt;
}

static const char *ends;

static void *work(void *name)
{
    const struct timespec pause = {0, 200000000};
    int is_thread = !strcmp(name, "thread");
    if (is_thread && !strcmp(ends, "outlived")) nanosleep(&pause, NULL); /* main ends meanwhile */
    long begin, end, before, after;
    measure(&begin, &before);
    touch();
    VT_SECTION_START("part", 1, 0);
    touch();
    VT_SECTION_STOP("part", 1, 0);
    touch();
    measure(&end, &after);
    printf("%s %ld %ld\n", (const char *)name, end - begin, after - before);
    if (is_thread && !strcmp(ends, "exit in thread")) exit(0);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t started;
    if (argc < 2) return 2;
    ends = argv[1];
    pthread_create(&started, NULL, work, "thread");
    if (strcmp(ends, "outlived")) pthread_join(started, NULL);
    if (!strcmp(ends, "two threads")) { /* the second one takes the location of the first one */
        pthread_create(&started, NULL, work, "thread");
        pthread_join(started, NULL);
    }
    work("main");
    fflush(stdout);
    if (!strcmp(ends, "fork")) {
        pid_t child = fork();
        if (!child) work("child");
        if (child) waitpid(child, NULL, 0);
    }
    if (!strcmp(ends, "_exit")) _exit(0);
    if (!strcmp(ends, "pthread_exit") || !strcmp(ends, "outlived")) pthread_exit(NULL);
    return 0;
}
