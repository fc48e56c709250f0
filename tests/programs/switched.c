/* SPDX-License-Identifier: BSD-3-Clause */
/* switched SWITCHES THREADS PAUSE [LIBRARY [forks]]: functions are selected and excluded SWITCHES times by VT_FUNCTIONS
   while THREADS threads call them and check their results, with PAUSE microseconds between two rounds. With a LIBRARY
   (exact_lib.c) another thread loads it, calls its entry and unloads it all the time; with forks yet another one forks
   children that call functions. main 1 -> own 1 after each switch; the first, third ... selection has it, so SWITCHES -
   SWITCHES / 2 are recorded. Each thread: kept 50, which is always selected; outer, middle, leaf, even, odd, wide, jumps,
   leaps as often as there is time. Prints "right" if all results were; else names the wrong one, and exits with 1. */
#include <setjmp.h>
#include "vt_user.h"
#include "program.h"

#define MOST 64
#define KEPT 50
#define ALWAYS "main;kept;own;"

static atomic_int ended, wrong;
static atomic_long rounds;
static useconds_t rest;
static __thread volatile long sink;
static const char *library;

static QUIET void must(const char *what, int right)
{
    if (right) return;
    if (!atomic_fetch_add(&wrong, 1)) printf("wrong result of %s\n", what);
}

static KEEP void kept(void) { sink++; }

static KEEP int own(int i)
{
    sink += 2;
    return i + 1;
}

static KEEP long double leaf(long double x)
{
    sink += 3;
    return x * 2;
}

static KEEP __int128 middle(__int128 a, int depth)
{
    __int128 r = depth ? middle(a + 1, depth - 1) : a;
    sink += (long)leaf((long double)depth);
    return r;
}

static KEEP int odd(long n);

static KEEP int even(long n)
{
    sink += 4;
    return n == 0 ? 1 : odd(n - 1);
}

static KEEP int odd(long n)
{
    sink += 5;
    return n == 0 ? 0 : even(n - 1);
}

static KEEP double wide(double a, double b, double c, double d, double e, double f, double g, double h, int i, int j)
{
    sink += 6;
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + i - j;
}

static KEEP void leaps(jmp_buf *back, int depth)
{
    if (depth == 0) longjmp(*back, (int)sink | 1);
    if (!wrong) leaps(back, depth - 1);
    sink += 7;
}

static KEEP int jumps(void)
{
    jmp_buf back;
    int value = setjmp(back);
    if (value == 0) leaps(&back, 5);
    return value;
}

static KEEP long outer(long i)
{
    sink += (long)middle(1, 4);
    must("middle", middle((__int128)i << 70, 6) == ((__int128)i << 70) + 6);
    must("leaf", leaf(0.25L * (long double)i) == 0.5L * (long double)i);
    must("even", even(i % 40) == (i % 2 == 0));
    must("wide", wide(1, 2, 3, 4, 5, 6, 7, 8, (int)i, 3) == 204 + (double)i - 3);
    must("jumps", jumps() & 1);
    return 2 * i;
}

static QUIET void *works(void *unused)
{
    for (int i = 0; i < KEPT; i++) kept();
    for (long i = 0; !atomic_load(&ended); i++) {
        must("outer", outer(i) == 2 * i);
        atomic_fetch_add(&rounds, 1);
        if (rest) usleep(rest);
    }
    return unused;
}

static QUIET void *loads(void *unused)
{
    while (!atomic_load(&ended)) {
        void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
        void (*entry)(int);
        *(void **)&entry = handle ? dlsym(handle, "entry") : NULL;
        must("dlopen", entry != NULL);
        if (!entry) break;
        entry(3);
        dlclose(handle);
    }
    return unused;
}

static QUIET void *forks(void *unused)
{
    while (!atomic_load(&ended)) {
        int status = 0;
        pid_t pid = fork();
        if (pid == 0) {
            for (int i = 0; i < 20; i++) outer(i);
            _exit(atomic_load(&wrong) > 0);
        }
        must("fork", pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
        usleep(2000);
    }
    return unused;
}

int main(int argc, char **argv)
{
    static const char *const with[] = {
        ALWAYS "outer", ALWAYS "middle;leaf;lib_*", ALWAYS "*e*;-outer", ALWAYS "w*;jumps;leaps", "*",
        ALWAYS "even",  ALWAYS "odd;entry"};
    static const char *const without[] = {"main;kept", "*;-own", "-own;-o*;-leaf", "main;kept;middle;even;jumps"};
    pthread_t threads[MOST];
    int switches = argc > 1 ? atoi(argv[1]) : 10, n = argc > 2 ? atoi(argv[2]) : 3, all = n;
    rest = argc > 3 ? (useconds_t)atoi(argv[3]) : 0;
    library = argc > 4 ? argv[4] : NULL;
    if (n > MOST - 2) return 2;
    for (int i = 0; i < n; i++) pthread_create(&threads[i], NULL, works, NULL);
    if (library) pthread_create(&threads[all++], NULL, loads, NULL);
    if (argc > 5) pthread_create(&threads[all++], NULL, forks, NULL);
    for (int i = 0; i < switches; i++) {
        const char *patterns = i % 2 ? without[i / 2 % 4] : with[i / 2 % 7];
        VT_FUNCTIONS(patterns);
        must("own", own(i) == i + 1);
    }
    while (n && atomic_load(&rounds) < 10L * n) usleep(1000);
    atomic_store(&ended, 1);
    for (int i = 0; i < all; i++) pthread_join(threads[i], NULL);
    if (!wrong) printf("right\n");
    return wrong > 0;
}
