/* SPDX-License-Identifier: BSD-3-Clause */
/* Constructs of OpenMP, one for each name on the command line, with counts in closed form; prints its results. Each
   parallel region has 2 threads unless the construct sets their number. */
#include <omp.h>
#include "program.h"

#define N 20
static long sum;
static int a[N];

static __attribute__((noinline)) void add(long x)
{
#pragma omp atomic
    sum += x;
}

static void parallel(void)
{
    for (int i = 0; i < N; i++) {
#pragma omp parallel num_threads(2)
        add(omp_get_thread_num() + 1);
    }
}

static void parallel_if(void)
{
#pragma omp parallel if (0)
    add(omp_get_num_threads());
}

static void many(void)
{
    for (int i = 0; i < 100000; i++) {
#pragma omp parallel num_threads(2)
        if (omp_get_thread_num()) sum++;
    }
}

static void changing(void)
{
    for (int n = 1; n <= 4; n++) {
#pragma omp parallel num_threads(n)
        add(omp_get_num_threads());
    }
    for (int n = 4; n >= 1; n--) {
#pragma omp parallel num_threads(n)
        add(omp_get_num_threads());
    }
}

static void nested(void)
{
    omp_set_max_active_levels(2);
    for (int i = 0; i < 3; i++) {
#pragma omp parallel num_threads(2)
        {
#pragma omp parallel num_threads(2)
            add(omp_get_level());
        }
    }
}

static void barriers(void)
{
#pragma omp parallel num_threads(2)
    for (int i = 0; i < N; i++) {
        a[omp_get_thread_num()] = i;
#pragma omp barrier
        add(a[!omp_get_thread_num()]);
#pragma omp barrier
    }
}

static void loop_static(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++) add(i);
        add(1);
    }
}

static void loop_dynamic(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp for schedule(dynamic)
        for (int i = 0; i < N; i++) add(i);
#pragma omp for schedule(guided, 2)
        for (int i = 0; i < N; i++) add(i);
#pragma omp for schedule(runtime)
        for (int i = 0; i < N; i++) add(i);
#pragma omp for schedule(monotonic : dynamic, 3) nowait
        for (int i = 0; i < N; i++) add(i);
#pragma omp for schedule(dynamic)
        for (unsigned long long i = 0; i < N; i++) add((long)i);
        add(1);
    }
}

static void parallel_loop(void)
{
#pragma omp parallel for schedule(dynamic) num_threads(2)
    for (int i = 0; i < N; i++) add(i);
#pragma omp parallel for schedule(guided) num_threads(2)
    for (int i = 0; i < N; i++) add(i);
}

static void ordered(void)
{
    long last = 0;
#pragma omp parallel num_threads(2)
#pragma omp for ordered schedule(dynamic)
    for (int i = 0; i < N; i++) {
#pragma omp ordered
        last = last * 3 + i;
    }
    sum = last % 1000003;
}

static void doacross(void)
{
    a[0] = 1;
#pragma omp parallel for ordered(1) schedule(static, 1) num_threads(2)
    for (int i = 1; i < N; i++) {
#pragma omp ordered depend(sink : i - 1)
        a[i] = a[i - 1] + i;
#pragma omp ordered depend(source)
    }
    sum = a[N - 1];
}

static void sections(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp sections
        {
            add(1);
#pragma omp section
            add(2);
#pragma omp section
            add(3);
        }
#pragma omp sections nowait
        {
            add(4);
#pragma omp section
            add(5);
        }
    }
#pragma omp parallel sections num_threads(2)
    {
        add(6);
#pragma omp section
        add(7);
    }
}

static void single(void)
{
    int x = 0;
#pragma omp parallel num_threads(2)
    for (int i = 0; i < N; i++) {
#pragma omp single
        add(1);
    }
#pragma omp parallel num_threads(2) private(x)
    {
#pragma omp single copyprivate(x)
        x = 7;
        add(x);
    }
}

static void single_nowait(void)
{
#pragma omp parallel num_threads(2)
    for (int i = 0; i < N; i++) {
#pragma omp single nowait
        add(1);
    }
}

static void critical(void)
{
#pragma omp parallel num_threads(2)
    for (int i = 0; i < N; i++) {
#pragma omp critical
        sum++;
#pragma omp critical(other)
        a[0]++;
    }
    sum += a[0];
}

static void locks(void)
{
    omp_lock_t lock;
    omp_nest_lock_t nest;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(2)
    for (int i = 0; i < N; i++) {
        omp_set_lock(&lock);
        sum++;
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nest);
        omp_set_nest_lock(&nest);
        a[1]++;
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
    }
    if (omp_test_lock(&lock)) omp_unset_lock(&lock);
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest);
    sum += a[1];
}

static void tasks(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        for (int i = 0; i < N; i++) {
#pragma omp task firstprivate(i)
            add(i);
        }
#pragma omp taskwait
        add(1);
    }
}

static long fib(int n)
{
    long x, y;
    if (n < 2) return n;
#pragma omp task shared(x)
    x = fib(n - 1);
#pragma omp task shared(y) if (n > 5)
    y = fib(n - 2);
#pragma omp taskwait
    return x + y;
}

/* fib(9): 54 calls with n >= 2, two tasks each. */
static void recursive(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    sum = fib(9);
}

struct wide {
    _Alignas(64) long x[20];
};

/* Tasks with data of every kind. */
static void data(void)
{
    struct wide w = {{1, 2, 3}};
#ifdef __clang__ /* clang cannot pass on arrays of variable length */
    int n = 5, v[5];
#else
    int n = 5, v[n];
#endif
    long r = 0;
    for (int i = 0; i < n; i++) v[i] = i;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task firstprivate(w, v)
        add(w.x[0] + w.x[2] + v[4] + ((unsigned long)&w % 64 ? 1000 : 0));
#pragma omp task firstprivate(w) if (0)
        add(w.x[1]);
#pragma omp task depend(out : v[0])
        v[0] = 11;
#pragma omp task depend(in : v[0])
        add(v[0]);
#pragma omp taskwait
#pragma omp taskloop num_tasks(4) reduction(+ : r)
        for (int i = 0; i < N; i++) r += i;
#pragma omp taskloop grainsize(20) firstprivate(w) lastprivate(n)
        for (unsigned long i = 0; i < 40; i++) {
            n = (int)i;
            add(w.x[0]);
        }
    }
    sum += r + n;
}

static void detached(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        omp_event_handle_t event;
#pragma omp task detach(event)
        add(5);
        omp_fulfill_event(event);
#pragma omp taskwait
        add(1);
    }
}

static void taskloop(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp taskloop num_tasks(5)
        for (int i = 0; i < N; i++) add(i);
#pragma omp taskgroup
        {
#pragma omp task
            add(1);
        }
    }
}

/* Needs OMP_CANCELLATION=true. */
static void cancelled(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp for schedule(dynamic)
        for (int i = 0; i < N; i++) {
#pragma omp cancel for
            add(1000);
        }
        add(1);
    }
#pragma omp parallel num_threads(2)
    {
        add(1);
#pragma omp cancel parallel
        add(1000);
    }
}

static void reductions(void)
{
    long r = 0;
#pragma omp parallel num_threads(2) reduction(task, + : r)
    {
#pragma omp single
        for (int i = 0; i < 4; i++) {
#pragma omp task in_reduction(+ : r)
            r += i;
        }
    }
    sum = r;
}

static void teams(void)
{
#pragma omp teams num_teams(2)
    {
#pragma omp parallel num_threads(2)
        add(1);
    }
}

/* The threads wait for one that sleeps. */
static void waits(void)
{
    for (int i = 0; i < 3; i++) {
        int come = 0;
#pragma omp parallel num_threads(2)
        if (!omp_get_thread_num()) {
            while (omp_get_num_threads() > 1 && !__atomic_load_n(&come, __ATOMIC_ACQUIRE)) {}
            double end = omp_get_wtime() + 0.02;
            while (omp_get_wtime() < end) {}
        } else __atomic_store_n(&come, 1, __ATOMIC_RELEASE);
    }
}

#define NAMES(X) X(parallel) X(parallel_if) X(many) X(changing) X(nested) X(barriers) X(loop_static) X(loop_dynamic) \
    X(parallel_loop) X(ordered) X(doacross) X(sections) X(single) X(single_nowait) X(critical) X(locks) X(tasks) \
    X(recursive) X(data) X(detached) X(taskloop) X(cancelled) X(reductions) X(teams) X(waits)

int main(int argc, char **argv)
{
    omp_set_dynamic(0);
    for (int i = 1; i < argc; i++) {
        sum = 0;
        memset(a, 0, sizeof a);
#define DO(name) \
    if (!strcmp(argv[i], #name)) name();
        NAMES(DO)
        printf("%s %ld\n", argv[i], sum);
    }
    return 0;
}
