/* SPDX-License-Identifier: BSD-3-Clause */
/* interrupted_reading closes|jumps: a thread asks how long another thread has waited for a processor, as the runtime does at
   an event after some milliseconds. When the file is open, "closes" closes all descriptors from 3 on in the first thread
   and opens a file of its own; "jumps" sends a signal whose handler leaves by siglongjmp. Prints "done"; exits with 3 if
   its file is closed or was read, with 4 if a descriptor stays open, with 5 if no file was opened. */
#define _GNU_SOURCE
#include <setjmp.h>
#include "program.h"

static volatile long sink;
static sigjmp_buf back;
static atomic_int ready;
static pthread_t reader;

KEEP void work(void) { sink++; }

/* Returns the descriptors from 3 on with the file of the runtime. */
static QUIET int open_now(void)
{
    char link[32], target[256];
    int found = 0;
    for (int fd = 3; fd < 720; fd = fd < 16 ? fd + 1 : fd < 700 ? 700 : fd + 1) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        const long n = readlink(link, target, sizeof target - 1);
        if (n > 0) target[n] = 0;
        found += n > 0 && strstr(target, "schedstat");
    }
    return found;
}

static QUIET int wait_for_reading(void)
{
    while (!atomic_load(&ready)) usleep(1000);
    for (int i = 0; i < 100000; i++)
        if (open_now()) return 1;
    return 0;
}

static QUIET void on_signal(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

static QUIET void *ask(void *unused)
{
    const struct timespec pause = {0, 50000000};
    work();
    nanosleep(&pause, NULL);
    atomic_store(&ready, 1);
    if (!sigsetjmp(back, 1)) work();
    return unused;
}

static QUIET int closes(void)
{
    if (!wait_for_reading()) return 5;
    syscall(SYS_close_range, 3, ~0u, 0);
    const int fd = open("own", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 3 || write(fd, "1 200000000000 3\n", 17) != 17 || lseek(fd, 0, SEEK_SET)) return 6;
    pthread_join(reader, NULL);
    return fcntl(fd, F_GETFD) < 0 || lseek(fd, 0, SEEK_CUR) ? 3 : 0;
}

static QUIET int jumps(void)
{
    if (!wait_for_reading()) return 5;
    pthread_kill(reader, SIGUSR1);
    pthread_join(reader, NULL);
    return open_now() ? 4 : 0;
}

QUIET int main(int argc, char **argv)
{
    signal(SIGUSR1, on_signal);
    pthread_create(&reader, NULL, ask, NULL);
    const int code = argc > 1 && !strcmp(argv[1], "jumps") ? jumps() : closes();
    if (!code) printf("done\n");
    return code;
}
