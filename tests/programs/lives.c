/* SPDX-License-Identifier: BSD-3-Clause */
/* lives HOW [N]: threads that start and end in every way, each calling work(1).
     join: two named threads at the same time, joined in the other order.   same: three threads with one name.
     detach: a detached thread, detached by its attributes and detached later; main waits until both have ended.
     cancel, exit: a thread that is cancelled, or calls pthread_exit in a called function.
     try: pthread_tryjoin_np until the thread has ended, then pthread_timedjoin_np and pthread_clockjoin_np of others.
     c11: thrd_create, thrd_join and thrd_detach.   nested: a thread that creates a thread and joins it.
     short: N threads, one after the other.   late: a destructor of the thread (of a key) calls work(1) as well.
     fails: a thread with an impossible stack size.   clone: a thread created by the bare system call. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <sys/prctl.h>
#include <threads.h>
#include "program.h"

static volatile long sink;
static volatile int done;
static pthread_barrier_t meeting;
static pthread_key_t key;

KEEP void work(long i) { sink += i; }

static QUIET void *named(void *name)
{
    if (*(char *)name == 'p') prctl(PR_SET_NAME, name);
    else pthread_setname_np(pthread_self(), name);
    work(1);
    pthread_barrier_wait(&meeting);
    return name;
}

static QUIET void *plain(void *unused)
{
    work(1);
    __atomic_add_fetch(&done, 1, __ATOMIC_SEQ_CST);
    return unused;
}

static QUIET int plain11(void *unused) { return plain(unused) != NULL; }

static QUIET void *waits(void *unused)
{
    work(1);
    for (;;) pause();
    return unused;
}

static KEEP void deep(void) { pthread_exit(NULL); }

static QUIET void *leaves(void *unused)
{
    work(1);
    deep();
    return unused;
}

static QUIET void *nests(void *unused)
{
    pthread_t inner;
    work(1);
    if (!pthread_create(&inner, NULL, plain, NULL)) pthread_join(inner, NULL);
    return unused;
}

static QUIET void at_end(void *unused)
{
    (void)unused;
    work(1);
}

static QUIET void *late(void *unused)
{
    work(1);
    pthread_setspecific(key, &key);
    return unused;
}

/* The directory has 2 links and one for each thread: with 3 all other threads and their destructors have ended. */
static QUIET void await(int n)
{
    struct stat tasks;
    while (done < n || stat("/proc/self/task", &tasks) || tasks.st_nlink > 3) usleep(1000);
}

/* A thread like one of glibc, but unknown to every wrapper of pthread_create. */
static QUIET int raw_body(void *unused)
{
    (void)unused;
    work(1);
    syscall(SYS_exit, 0);
    return 0;
}

static QUIET int raw(void)
{
#if defined(__x86_64__)
    void *(*tls)(void *) = (void *(*)(void *))dlsym(RTLD_DEFAULT, "_dl_allocate_tls");
    static int alive = 1;
    char *stack = mmap(NULL, 1 << 18, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *block = aligned_alloc(64, 65536);
    if (!tls || !block || stack == MAP_FAILED) return 77;
    memset(block, 0, 65536);
    memcpy(block + 32768, (char *)pthread_self(), 2304); /* thread-local variables are below it */
    void **tcb = tls(block + 32768);
    if (!tcb) return 77;
    tcb[0] = tcb[2] = tcb;
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
                CLONE_CHILD_CLEARTID;
    if (clone(raw_body, stack + (1 << 18), flags, NULL, NULL, tcb, &alive) < 0) return 77;
    while (__atomic_load_n(&alive, __ATOMIC_SEQ_CST)) syscall(SYS_futex, &alive, FUTEX_WAIT, 1, NULL, NULL, 0);
    return 0;
#else
    return 77;
#endif
}

static QUIET int pair(const char *how)
{
    static char first[] = "reader", second[] = "printer", same[] = "worker";
    int n = !strcmp(how, "same") ? 3 : 2;
    pthread_t t[3];
    pthread_barrier_init(&meeting, NULL, (unsigned)n + 1);
    for (int i = 0; i < n; i++) pthread_create(&t[i], NULL, named, n == 3 ? same : i ? second : first);
    pthread_barrier_wait(&meeting);
    for (int i = n; i--;) pthread_join(t[i], NULL);
    return 0;
}

static QUIET int joins(void)
{
    pthread_t t[3];
    struct timespec until;
    for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, plain, NULL);
    while (pthread_tryjoin_np(t[0], NULL)) usleep(1000);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    if (pthread_timedjoin_np(t[1], NULL, &until)) return 1;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 60;
    return pthread_clockjoin_np(t[2], NULL, CLOCK_MONOTONIC, &until);
}

static QUIET int one(void *(*body)(void *), int cancel)
{
    pthread_t t;
    if (pthread_create(&t, NULL, body, NULL)) return 1;
    if (cancel) pthread_cancel(t);
    return pthread_join(t, NULL);
}

static QUIET int run(const char *how, int n)
{
    pthread_attr_t attributes;
    pthread_t t;
    thrd_t c11;
    pthread_attr_init(&attributes);
    if (!strcmp(how, "join") || !strcmp(how, "same")) return pair(how);
    if (!strcmp(how, "try")) return joins();
    if (!strcmp(how, "exit")) return one(leaves, 0);
    if (!strcmp(how, "nested")) return one(nests, 0);
    if (!strcmp(how, "cancel")) return one(waits, 1);
    if (!strcmp(how, "clone")) return raw();
    for (int i = 0; !strcmp(how, "short") && i < n; i++)
        if (one(plain, 0)) return 1;
    if (!strcmp(how, "late")) return pthread_key_create(&key, at_end) || one(late, 0);
    if (!strcmp(how, "fails")) {
        pthread_attr_setstacksize(&attributes, (size_t)1 << 46);
        return !pthread_create(&t, &attributes, plain, NULL);
    }
    if (!strcmp(how, "detach")) {
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        if (pthread_create(&t, &attributes, plain, NULL)) return 1;
        await(1);
        if (pthread_create(&t, NULL, plain, NULL) || pthread_detach(t)) return 1;
        await(2);
    }
    if (!strcmp(how, "c11")) {
        if (thrd_create(&c11, plain11, NULL) != thrd_success || thrd_join(c11, NULL) != thrd_success) return 1;
        if (thrd_create(&c11, plain11, NULL) != thrd_success || thrd_detach(c11) != thrd_success) return 1;
        await(2);
    }
    return 0;
}

int main(int argc, char **argv) { return argc > 1 ? run(argv[1], argc > 2 ? atoi(argv[2]) : 0) : 2; }
