/* SPDX-License-Identifier: BSD-3-Clause */
/* raw_calls HOW: makes a system call by its number, or one that few programs make. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile double sum;

__attribute__((noinline)) static void work(int ms)
{
    for (long i = 0; i < ms * 300000L; i++) sum += (double)i;
}

static int child(void *unused)
{
    (void)unused;
    work(20);
    return 7;
}

static void wait_for(pid_t pid)
{
    int status = 0;
    waitpid(pid, &status, 0);
    printf("%d\n", WEXITSTATUS(status));
}

static void fork_by(long number)
{
    const long pid = syscall(number, SIGCHLD, 0, 0, 0, 0);
    if (!pid) _exit(child(NULL));
    wait_for((pid_t)pid);
}

/* The child uses the memory of this process, and may run beside it. */
static void share_memory(int flags)
{
    static char stack[1 << 20] __attribute__((aligned(16)));
    const int pid = clone(child, stack + sizeof stack, CLONE_VM | SIGCHLD | flags, NULL);
    work(30);
    wait_for(pid);
}

/* All signals are blocked, and those of vtrace must not reach the program. */
static void take_signals(int by_descriptor)
{
    sigset_t all;
    struct signalfd_siginfo info;
    const struct timespec none = {0, 0};
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    const int fd = signalfd(-1, &all, SFD_NONBLOCK);
    work(200);
    const long n = by_descriptor ? read(fd, &info, sizeof info) : sigtimedwait(&all, NULL, &none);
    printf("%ld\n", n);
}

static void use_prctl(void)
{
    char name[16] = "";
    prctl(PR_SET_NAME, "other");
    prctl(PR_GET_NAME, name);
    printf("%s %d %d\n", name, prctl(PR_SET_DUMPABLE, 0), prctl(12345, 1, 2, 3, 4));
}

static void open_apart(void)
{
    void *library = dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW);
    double (*cosine)(double) = NULL;
    if (library) *(void **)&cosine = dlsym(library, "cos");
    printf("%d\n", cosine && cosine(0) > 0.9);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    char *words[] = {"echo", "by number", NULL};
    FILE *nothing = fopen("/dev/null", "r"); /* an event for each kind of trace */
    work(10);
    if (!strcmp(how, "fork")) fork_by(SYS_clone);
    if (!strcmp(how, "vfork")) share_memory(CLONE_VFORK);
    if (!strcmp(how, "clone")) share_memory(0);
    if (!strcmp(how, "execve")) syscall(SYS_execve, "/bin/echo", words, environ);
    if (!strcmp(how, "exit_group")) syscall(SYS_exit_group, 6);
    if (!strcmp(how, "close_range")) syscall(SYS_close_range, 3, ~0u, 0);
    if (!strcmp(how, "sigtimedwait")) take_signals(0);
    if (!strcmp(how, "signalfd")) take_signals(1);
    if (!strcmp(how, "prctl")) use_prctl();
    if (!strcmp(how, "dlmopen")) open_apart();
    return nothing ? 0 : 1;
}
