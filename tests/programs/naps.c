/* SPDX-License-Identifier: BSD-3-Clause */
/* naps THREADS CALLS: before main nanosleep 1; main 1 -> nap CALLS -> nanosleep 1 each, too_short 1 -> nanosleep 1,
   on_signal 1 -> nap 1 -> nanosleep 1; each thread: body 1 -> nap CALLS -> nanosleep 1 each. Prints "ok". Fails if the
   result or errno of nanosleep is not as without a shim. */
#include "program.h"

#define MAX_THREADS 16

static long calls;
static int failed;
static pthread_barrier_t meeting; /* threads that exist at the same time have different locations */

static QUIET int sleeps(long seconds, long ns)
{
    struct timespec wanted = {seconds, ns}, left = {0, 0};
    return nanosleep(&wanted, &left);
}

static QUIET void check(int good, const char *what)
{
    if (good) return;
    fprintf(stderr, "%s\n", what);
    failed = 1;
}

__attribute__((constructor)) static QUIET void early(void)
{
    errno = 77;
    check(sleeps(0, 1) == 0 && errno == 77, "before main");
}

KEEP void nap(void)
{
    errno = 78;
    check(sleeps(0, 1) == 0 && errno == 78, "errno of a success");
}

KEEP void too_short(void) { check(sleeps(0, -1) == -1 && errno == EINVAL, "errno of a failure"); }

KEEP void *body(void *unused)
{
    for (long i = 0; i < calls; i++) nap();
    pthread_barrier_wait(&meeting);
    return unused;
}

KEEP void on_signal(int number)
{
    (void)number;
    nap();
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    pthread_t threads[MAX_THREADS];
    int n = atoi(argv[1]) < MAX_THREADS ? atoi(argv[1]) : MAX_THREADS;
    calls = atol(argv[2]);
    pthread_barrier_init(&meeting, 0, (unsigned)n + 1);
    for (int i = 0; i < n; i++)
        if (pthread_create(&threads[i], 0, body, 0)) return 1;
    pthread_barrier_wait(&meeting);
    for (int i = 0; i < n; i++) pthread_join(threads[i], 0);
    for (long i = 0; i < calls; i++) nap();
    too_short();
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    puts(failed ? "failed" : "ok");
    return failed;
}
