/* SPDX-License-Identifier: BSD-3-Clause */
/* sampled_blocks MODE: a thread blocks all signals while each page that it touches for the first time is a page fault.
   exec, fork, spawn: then it calls exec, in a child or not, and the new program unblocks the signals. waits: it waits
   for any signal by sigtimedwait, sigwait, sigwaitinfo and signalfd. queue: no signal with data may wait. dies: raises
   SIGIO. file: it has a signalfd for SIGRTMAX-2 alone. Prints the same as without vtrace. */
#define _GNU_SOURCE
#include <poll.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include "program.h"

#define PAGE 4096L
#define PAGES 1000L

extern char **environ;
static sigset_t all, none;
static volatile int handled;

static inline __attribute__((always_inline)) void touch(void)
{
    volatile char *at = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise((void *)at, PAGES * PAGE, MADV_NOHUGEPAGE);
    for (long i = 0; i < PAGES; i++) at[i * PAGE] = 1;
    munmap((void *)at, PAGES * PAGE);
}

#define TOUCHES(name)                                                                                                  \
    __attribute__((noinline)) static void name(void)                                                                   \
    {                                                                                                                  \
        touch();                                                                                                       \
        __asm__ volatile("");                                                                                          \
    }
TOUCHES(blocked)
TOUCHES(after)
TOUCHES(by_default)
TOUCHES(with_handler)

static void block(void)
{
    sigprocmask(SIG_SETMASK, &all, NULL);
    blocked();
}

static void become(char *self)
{
    char *const words[] = {self, "unblock", NULL}, *const missing[] = {"/missing", NULL};
    execv(*missing, missing);
    execv(self, words);
    _exit(9);
}

static int status_of(pid_t child)
{
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

static int spawned(char *self)
{
    char *const words[] = {self, "unblock", NULL};
    pid_t child = -1;
    int error = posix_spawn(&child, self, NULL, NULL, words, environ);
    return error ? error : status_of(child);
}

static int forked(char *self)
{
    pid_t child = fork();
    if (!child) {
        block();
        become(self);
    }
    return status_of(child);
}

/* Prints the signals that it gets: SIGUSR1 alone, in four ways, then none. */
static void wait_for_all(void)
{
    const struct timespec moment = {0, 1000000};
    struct signalfd_siginfo got;
    int number = 0, file = signalfd(-1, &all, SFD_NONBLOCK);
    blocked();
    printf("%d\n", sigtimedwait(&all, NULL, &moment) == -1 && errno == EAGAIN);
    raise(SIGUSR1);
    blocked();
    printf("%d\n", sigtimedwait(&all, NULL, NULL) == SIGUSR1);
    raise(SIGUSR1);
    blocked();
    printf("%d\n", !sigwait(&all, &number) && number == SIGUSR1);
    raise(SIGUSR1);
    blocked();
    printf("%d\n", sigwaitinfo(&all, NULL) == SIGUSR1);
    raise(SIGUSR1);
    blocked();
    printf("%d\n", read(file, &got, sizeof got) == sizeof got && got.ssi_signo == SIGUSR1);
    printf("%d\n", read(file, &got, sizeof got) == -1 && errno == EAGAIN);
    sigprocmask(SIG_SETMASK, &none, NULL);
    after();
}

/* The signal is the program's own, although vtrace has chosen it before. */
static void own_file(void)
{
    struct signalfd_siginfo got;
    sigset_t one = none;
    sigaddset(&one, SIGRTMAX - 2);
    sigprocmask(SIG_BLOCK, &one, NULL);
    blocked();
    int file = signalfd(-1, &one, SFD_NONBLOCK);
    blocked();
    raise(SIGRTMAX - 2);
    printf("%d\n", read(file, &got, sizeof got) == sizeof got && got.ssi_code == SI_TKILL);
    printf("%d\n", read(file, &got, sizeof got) == -1 && errno == EAGAIN);
}

static void handler(int number) { handled += number == SIGIO; }

/* The kernel sends SIGIO in place of a signal with data that may not wait. */
static void no_queue(char *self)
{
    const struct timespec moment = {0, 1000000};
    struct rlimit limit = {0, 0};
    struct sigaction now = {.sa_handler = handler};
    setrlimit(RLIMIT_SIGPENDING, &limit);
    by_default();
    printf("%d\n", !sigaction(SIGIO, NULL, &now) && now.sa_handler == SIG_DFL);
    printf("%d\n", signal(SIGIO, handler) == SIG_DFL);
    with_handler();
    raise(SIGIO);
    printf("%d\n", handled);
    printf("%d\n", signal(SIGIO, SIG_DFL) == handler);
    by_default();
    block();
    printf("%d\n", sigtimedwait(&all, NULL, &moment) == -1 && errno == EAGAIN);
    raise(SIGIO);
    blocked();
    printf("%d\n", sigtimedwait(&all, NULL, &moment) == SIGIO);
    printf("%d\n", spawned(self));
    fflush(stdout);
    blocked();
    become(self);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    sigfillset(&all);
    sigemptyset(&none);
    if (!strcmp(mode, "exec")) block(), become(argv[0]);
    if (!strcmp(mode, "fork")) printf("%d\n", forked(argv[0]));
    if (!strcmp(mode, "spawn")) block(), printf("%d\n", spawned(argv[0]));
    if (!strcmp(mode, "waits")) sigprocmask(SIG_SETMASK, &all, NULL), wait_for_all();
    if (!strcmp(mode, "queue")) no_queue(argv[0]);
    if (!strcmp(mode, "file")) own_file();
    if (!strcmp(mode, "dies")) raise(SIGIO);
    if (!strcmp(mode, "unblock")) sigprocmask(SIG_SETMASK, &none, NULL), puts("alive");
    return 0;
}
