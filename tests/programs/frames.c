/* SPDX-License-Identifier: BSD-3-Clause */
/* frames HOW [TIMES [MICROSECONDS]]: functions that are left by other ways than their return. main 1 -> (catcher 1 ->
   d1 -> d2 -> d3 -> d4 -> d5, landed 1; settled 1) TIMES times. landed is called by the function in which the program
   continues, after MICROSECONDS of work.
   longjmp: d5 jumps to catcher. signal: d5 raises a signal; on_signal 1 -> h1 1 jumps to catcher by siglongjmp. stack:
   the same with on_signal on an alternate stack. handled, below, above: on_signal 1 -> h1 1 return, and d5 calls landed
   itself; below, above: on alternate stacks at lower and at higher addresses than the frames that it interrupts.
   libc: d5 calls snooze 1, which ends in a tail call of a function of libc; d5 calls landed.
   tail: catcher calls even(TIMES), which calls odd by a tail call, and so on, on a stack of 128K; no d1 ... d5.
   pointers: the same by pointers to functions.
   thread: three threads; in each catcher -> d1 ... d5, which ends the thread by pthread_exit. No landed, no settled.
   cancel: the same, ended by pthread_cancel; d3 has a clean-up handler: cleaned 3.
   context: players 1 swaps TIMES times with a context of its own stack: ping TIMES, pong TIMES, second_stack 1; then
   landed 1, settled 1 in main. moves: the context continues in another thread each time: pong TIMES, second_stack 1.
   exit: d5 ends the program; last 1 is called by exit. noreturn: d5 calls dies 1, which does so and cannot return.
   fork: d5 forks; the child calls in_child 1, all of d5 ... main return there, too; parent: landed. forkexit: the child
   ends in d5 by _exit after in_child. vfork: the same with vfork. */
#include <setjmp.h>
#include <ucontext.h>
#include "program.h"

#define THREADS 3
#define STACK (128 * 1024)
#ifdef __clang__ /* whose hooks stand between a call and the return, unless the program demands a tail call */
#define TAIL __attribute__((musttail)) return
#else
#define TAIL return
#endif

static __thread volatile long sink;
static const char *how;
static long times, microseconds;
static sigjmp_buf back;
static ucontext_t first, second;
static int is_child;

static QUIET int is(const char *name) { return !strcmp(how, name); }

static QUIET void work(void)
{
    struct timespec begin, t;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do clock_gettime(CLOCK_MONOTONIC, &t);
    while ((t.tv_sec - begin.tv_sec) * 1000000 + (t.tv_nsec - begin.tv_nsec) / 1000 < microseconds);
}

static KEEP void landed(void) { sink += 2; }

static KEEP void settled(void) { sink += 3; }

static KEEP void last(void) { sink += 4; }

static KEEP void cleaned(void *unused)
{
    (void)unused;
    sink += 5;
}

static KEEP void in_child(void) { sink += 6; }

static KEEP void h1(void)
{
    if (is("signal") || is("stack")) siglongjmp(back, 1);
    sink++;
}

static KEEP void on_signal(int number)
{
    (void)number;
    h1();
    sink++;
}

static KEEP int snooze(void) { return usleep((useconds_t)(microseconds / 10)); }

static KEEP __attribute__((noreturn)) void dies(void)
{
    sink++;
    exit(0);
}

static QUIET void begets(void)
{
    pid_t pid = is("vfork") ? vfork() : fork();
    if (pid == 0) {
        in_child();
        if (!is("fork")) _exit(0);
        is_child = 1;
        return;
    }
    waitpid(pid, NULL, 0);
    work();
}

static KEEP void d5(void)
{
    if (is("longjmp")) siglongjmp(back, 1);
    if (is("thread")) pthread_exit(NULL);
    if (is("cancel"))
        for (;;) pause();
    if (is("exit")) exit(0);
    if (is("noreturn")) dies();
    if (is("libc")) {
        sink += snooze();
        work();
    } else if (is("fork") || is("forkexit") || is("vfork")) begets();
    else {
        raise(SIGUSR1);
        work();
    }
    if (!is_child) landed();
    sink++;
}

static KEEP void d4(void)
{
    d5();
    sink++;
}

static KEEP void d3(void)
{
    if (is("cancel")) {
        pthread_cleanup_push(cleaned, NULL);
        d4();
        pthread_cleanup_pop(0);
    } else d4();
    sink++;
}

static KEEP void d2(void)
{
    d3();
    sink++;
}

static KEEP void d1(void)
{
    d2();
    sink++;
}

static KEEP int odd(long n);

static KEEP int even(long n)
{
    sink++;
    if (n == 0) return 1;
    TAIL odd(n - 1);
}

static KEEP int odd(long n)
{
    sink++;
    if (n == 0) return 0;
    TAIL even(n - 1);
}

static KEEP int odd_by_pointer(long n);
static KEEP int even_by_pointer(long n);
static int (*volatile const pointers[])(long) = {even_by_pointer, odd_by_pointer};

static KEEP int even_by_pointer(long n)
{
    sink++;
    if (n == 0) return 1;
    TAIL pointers[1](n - 1);
}

static KEEP int odd_by_pointer(long n)
{
    sink++;
    if (n == 0) return 0;
    TAIL pointers[0](n - 1);
}

static KEEP void catcher(void)
{
    if (is("tail") || is("pointers")) {
        if ((is("tail") ? even(times) : even_by_pointer(times)) != (times % 2 == 0)) abort();
    } else if (sigsetjmp(back, 1)) {
        work();
        landed();
    } else d1();
    sink++;
}

static QUIET void *in_thread(void *unused)
{
    (void)unused;
    catcher();
    return NULL;
}

static QUIET void threads(int n)
{
    pthread_t thread[THREADS];
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    for (int i = 0; i < n; i++)
        if (pthread_create(&thread[i], &attributes, in_thread, NULL)) abort();
    if (is("cancel")) {
        usleep(50000); /* time to reach pause */
        for (int i = 0; i < n; i++) pthread_cancel(thread[i]);
    }
    for (int i = 0; i < n; i++) pthread_join(thread[i], NULL);
}

static KEEP void ping(void) { sink += 7; }

static KEEP void pong(void) { sink += 8; }

static KEEP void second_stack(void)
{
    for (long i = 0; i < times; i++) {
        pong();
        swapcontext(&second, &first);
    }
    sink++;
}

static QUIET void prepare_context(void)
{
    static char stack[STACK] __attribute__((aligned(16)));
    getcontext(&second);
    second.uc_stack.ss_sp = stack;
    second.uc_stack.ss_size = sizeof stack;
    second.uc_link = &first;
    makecontext(&second, second_stack, 0);
}

static KEEP void players(void)
{
    for (long i = 0; i < times; i++) {
        ping();
        swapcontext(&first, &second);
    }
    swapcontext(&first, &second); /* second_stack returns */
    sink++;
}

static QUIET void *goes_on(void *unused)
{
    swapcontext(&first, &second);
    return unused;
}

static QUIET void contexts(void)
{
    prepare_context();
    if (is("moves")) {
        for (long i = 0; i <= times; i++) {
            pthread_t thread;
            if (pthread_create(&thread, NULL, goes_on, NULL)) abort();
            pthread_join(thread, NULL);
        }
    } else players();
    landed();
    settled();
}

static QUIET void handle_signals(char *above)
{
    struct sigaction action = {.sa_handler = on_signal};
    stack_t stack = {.ss_size = STACK};
    if (is("above")) stack.ss_sp = above;
    else if (is("stack") || is("below"))
        stack.ss_sp = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack.ss_sp) {
        if (sigaltstack(&stack, NULL)) abort();
        action.sa_flags = SA_ONSTACK;
    }
    sigaction(SIGUSR1, &action, NULL);
}

int main(int argc, char **argv)
{
    char above[STACK];
    how = argc > 1 ? argv[1] : "longjmp";
    times = argc > 2 ? atol(argv[2]) : 1;
    microseconds = argc > 3 ? atol(argv[3]) : 0;
    handle_signals(above);
    if (is("exit") || is("noreturn")) atexit(last);
    if (is("context") || is("moves")) contexts();
    else if (is("thread") || is("cancel")) threads(THREADS);
    else if (is("tail") || is("pointers")) threads(1);
    else {
        for (long i = 0; i < times && !is_child; i++) {
            catcher();
            if (!is_child) settled();
        }
    }
    if (!is_child) printf("done %ld\n", times);
    return 0;
}
