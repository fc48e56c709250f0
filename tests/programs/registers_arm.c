/* SPDX-License-Identifier: BSD-3-Clause */
/* registers_arm TIMES: aarch64's registers that other calls do not use. wide (aarch64_vector_pcs): the callee keeps q8 to
   q23. many (preserve_most): the callee keeps x9 to x15. scalable (SVE): arguments and results are whole scalable vectors
   and predicates. Prints "vector 10 kept 10 scalable 10", with 0 for vectors that the program was not compiled for, and
   exits with 1 if a value is not as passed. main 1 -> vector, kept, scalable TIMES -> wide, many, double_scalable 1 each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "keep.h"
#ifdef __ARM_FEATURE_SVE
#include <arm_sve.h>
#endif

static volatile long sink;
static int wrong;

static QUIET void compare(const char *name, const void *found, const void *wanted, size_t size)
{
    if (!memcmp(found, wanted, size)) return;
    if (wrong++ < 10) printf("%s: not as passed\n", name);
}

typedef long pair __attribute__((vector_size(16)));

static KEEP __attribute__((aarch64_vector_pcs)) pair wide(pair a, pair b)
{
    sink++;
    return a + 2 * b;
}

/* More vectors live across the call than the usual convention keeps. */
static KEEP void vector(long i)
{
    pair v[12], found, wanted;
    for (long k = 0; k < 12; k++) v[k] = (pair){i + k, 1000 * i + k};
#define LIVE(n) pair l##n = v[n]; __asm__ volatile("" : "+w"(l##n));
    LIVE(0) LIVE(1) LIVE(2) LIVE(3) LIVE(4) LIVE(5) LIVE(6) LIVE(7) LIVE(8) LIVE(9) LIVE(10) LIVE(11)
    found = wide(v[0], v[1]);
    wanted = v[0] + 2 * v[1];
    compare("wide", &found, &wanted, sizeof found);
#define SAME(n) __asm__ volatile("" : "+w"(l##n)); compare("q" #n, &l##n, &v[n], sizeof(pair));
    SAME(0) SAME(1) SAME(2) SAME(3) SAME(4) SAME(5) SAME(6) SAME(7) SAME(8) SAME(9) SAME(10) SAME(11)
}

static KEEP __attribute__((preserve_most)) long many(long a, long b)
{
    sink++;
    return a - b;
}

static KEEP void kept(long i)
{
    long v[14], found, wanted;
    for (long k = 0; k < 14; k++) v[k] = 7 * i + k;
#define HELD(n) long h##n = v[n]; __asm__ volatile("" : "+r"(h##n));
    HELD(0) HELD(1) HELD(2) HELD(3) HELD(4) HELD(5) HELD(6) HELD(7) HELD(8) HELD(9) HELD(10) HELD(11) HELD(12) HELD(13)
    found = many(i, 3);
    wanted = i - 3;
    compare("many", &found, &wanted, sizeof found);
#define STILL(n) __asm__ volatile("" : "+r"(h##n)); compare("x" #n, &h##n, &v[n], sizeof(long));
    STILL(0) STILL(1) STILL(2) STILL(3) STILL(4) STILL(5) STILL(6) STILL(7) STILL(8) STILL(9) STILL(10) STILL(11)
    STILL(12) STILL(13)
}

#ifdef __ARM_FEATURE_SVE
static KEEP svint64_t double_scalable(svint64_t a, svint64_t b, svbool_t where)
{
    sink++;
    return svadd_m(where, a, svmul_x(svptrue_b64(), b, 2));
}

static KEEP void scalable(long i)
{
    long v[32], found[32], wanted[32], n = (long)svcntd();
    for (long k = 0; k < n; k++) {
        v[k] = i + 13 * k;
        wanted[k] = v[k] + (k < i % (n + 1) ? 2 * v[k] : 0);
    }
    svint64_t a = svld1(svptrue_b64(), v), keep = svadd_x(svptrue_b64(), a, 5);
    svint64_t r = double_scalable(a, a, svwhilelt_b64(0L, i % (n + 1)));
    svst1(svptrue_b64(), found, r);
    compare("scalable", found, wanted, (size_t)n * 8);
    svst1(svptrue_b64(), found, svsub_x(svptrue_b64(), keep, 5));
    compare("kept scalable", found, v, (size_t)n * 8);
}
#endif

int main(int argc, char **argv)
{
    long times = argc > 1 ? atol(argv[1]) : 10, scalables = 0;
    for (long i = 0; i < times; i++) {
        vector(i);
        kept(i);
#ifdef __ARM_FEATURE_SVE
        scalable(i);
        scalables++;
#endif
    }
    printf("vector %ld kept %ld scalable %ld\n", times, times, scalables);
    return wrong != 0;
}
