/* SPDX-License-Identifier: BSD-3-Clause */
/* sampling DEPTH ROUNDS: calls the handler's work, without signal and timer, on a stack of DEPTH frames of different
   functions. Prints ns of CPU time for a whole sample, and for unwinding alone. Linked with csrc/core and csrc/sampling;
   VT_SAMPLE_RATE must be set, so that the process has a sampler and tables.
   sampling spin ROUNDS: calculates, and prints its CPU time in ns. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include "../csrc/sampling/sampling.h"

static int rounds;
static ucontext_t two[2]; /* neighbouring samples differ in their innermost frames */
static struct vt_unwinder unwinder;

static double cpu(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void sample(void)
{
    static uint64_t frames[VT_SAMPLE_FRAMES];
    enum vt_sample_end end;
    uint64_t mask;
    vt_hold_signals(&mask);
    double begin = cpu(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < rounds; i++) vt_sample_take(vt_own_location, &two[i & 1], 1, 0);
    double middle = cpu(CLOCK_THREAD_CPUTIME_ID);
    vt_unwind_begin(&unwinder, 1, 0);
    const struct vt_code_map *map = vt_code_map_enter();
    for (int i = 0; i < rounds; i++) {
        const greg_t *r = two[i & 1].uc_mcontext.gregs;
        struct vt_registers at = {(uintptr_t)r[REG_RIP], (uintptr_t)r[REG_RSP], (uintptr_t)r[REG_RBP]};
        vt_unwind(&unwinder, map, at, frames, &end);
    }
    vt_code_map_leave();
    double after = cpu(CLOCK_THREAD_CPUTIME_ID);
    vt_release_signals(&mask);
    if (end != VT_SAMPLE_COMPLETE) exit(1);
    printf("%.1f %.1f\n", (middle - begin) / rounds, (after - middle) / rounds);
}

static __attribute__((noinline)) void innermost(void)
{
    getcontext(&two[1]);
    sample();
}

static __attribute__((noinline)) void inner(void)
{
    getcontext(&two[0]);
    innermost();
    __asm__ volatile("");
}

/* Sixteen functions that call each other, so that the frames have different instructions and sizes. */
#define NEXT(name, next)                                                                                               \
    static __attribute__((noinline)) void name(int depth)                                                              \
    {                                                                                                                  \
        volatile char room[8 * (sizeof #next - 2)];                                                                    \
        room[0] = (char)depth;                                                                                         \
        if (depth > 0) next(depth - 1);                                                                                \
        else inner();                                                                                                  \
        room[1] = room[0];                                                                                             \
    }
static void f0(int depth);
NEXT(f15, f0)
NEXT(f14, f15)
NEXT(f13, f14)
NEXT(f12, f13)
NEXT(f11, f12)
NEXT(f10, f11)
NEXT(f9, f10)
NEXT(f8, f9)
NEXT(f7, f8)
NEXT(f6, f7)
NEXT(f5, f6)
NEXT(f4, f5)
NEXT(f3, f4)
NEXT(f2, f3)
NEXT(f1, f2)
NEXT(f0, f1)

int main(int argc, char **argv)
{
    rounds = argc > 2 ? atoi(argv[2]) : 0;
    if (argc > 2 && !strcmp(argv[1], "spin")) {
        for (int i = 0; i < rounds; i++)
            for (volatile int n = 0; n < 1000000; n++) continue;
        printf("%.0f\n", cpu(CLOCK_PROCESS_CPUTIME_ID));
        return 0;
    }
    usleep(300000); /* until the tables are made */
    f0(atoi(argv[1]) - 7); /* inner, innermost, sample's caller, main and its three callers */
    return 0;
}
