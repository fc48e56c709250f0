/* SPDX-License-Identifier: BSD-3-Clause */
/* descriptors HOW CALLS: calls work CALLS times. HOW: closed (0, 1 and 2 are closed before anything is traced; another
   thread writes to them all the time, which must fail), own (as closed, but the files own.0, own.1 and own.2 take their
   place; each gets a line before and after the calls), loop (another thread repeatedly closes all from 3 on and writes
   files own.N in between), full (no descriptor is free from then on), freed (the same during the calls, not after
   them). Exit code 0, or 1 if something was written to a wrong file. */
#define _GNU_SOURCE
#include "program.h"

static volatile long sink;
static _Atomic int done, wrong;

KEEP void work(void) { sink++; }

static QUIET void *write_to_closed(void *unused)
{
    while (!done)
        for (int fd = 0; fd < 3; fd++)
            if (write(fd, "stray\n", 6) >= 0) wrong = 1;
    return unused;
}

/* The other thread may close this descriptor, but no other code writes into these files. */
static QUIET void write_own(int number)
{
    char name[32], line[8] = "";
    snprintf(name, sizeof name, "own.%d", number);
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (write(fd, "begin\n", 6) != 6) return;
    usleep(100);
    long n = pread(fd, line, 7, 0);
    if (n >= 0 && (n != 6 || strcmp(line, "begin\n"))) wrong = 1;
    close(fd);
}

static QUIET void *close_all(void *unused)
{
    for (int i = 0; !done; i++) {
        for (int fd = 1023; fd > 2; fd--) close(fd); /* 3 is closed last, and own.N gets it at once */
        write_own(i % 20);
    }
    return unused;
}

static QUIET void to_own(const char *line)
{
    for (int fd = 0; fd < 3; fd++)
        if (write(fd, line, strlen(line)) < 0) wrong = 1;
}

static QUIET int take_all(const char *how, long calls)
{
    int first = dup(1), last = first;
    for (int fd = first; fd >= 0; fd = dup(1)) last = fd;
    for (long i = 0; i < calls; i++) work();
    for (; !strcmp(how, "freed") && last >= first; last--) close(last);
    return 0;
}

QUIET int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    if (argv[1][0] == 'f') return take_all(argv[1], atol(argv[2]));
    char name[] = "own.0";
    pthread_t thread;
    int own = !strcmp(argv[1], "own"), loop = !strcmp(argv[1], "loop");
    for (int fd = 0; fd < 3 && !loop; fd++) close(fd);
    for (; own && name[4] < '3'; name[4]++)
        if (open(name, O_RDWR | O_CREAT | O_APPEND, 0644) != name[4] - '0') return 1;
    if (own) to_own("begin\n");
    else if (pthread_create(&thread, 0, loop ? close_all : write_to_closed, 0)) return 1;
    for (long i = 0, calls = atol(argv[2]); i < calls; i++) work();
    done = 1;
    if (own) to_own("end\n");
    else pthread_join(thread, 0);
    return wrong;
}
