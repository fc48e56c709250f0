/* SPDX-License-Identifier: BSD-3-Clause */
/* registers TIMES: arguments and results in every kind of register. Each function is called TIMES times and returns one
   of its arguments bit by bit; the program names a value that is not as passed, and then exits with 1. Prints the
   numbers of calls: "scalars 10 structs 10 ...", and 0 for vectors that the processor does not have.
   main 1 -> scalars TIMES -> give_int 1, give_long_double 1 ...; structs, mixed, variadic, vectors16; nested (gcc),
   windows (ms_abi); vectors32 (AVX2) and vectors64 (AVX-512), which call give_32, give_64 and eight_32, eight_64. */
#include <complex.h>
#include <stdarg.h>
#include "program.h"

#ifdef __aarch64__
#define __float128 long double /* has the same 16 bytes there */
#endif

static volatile long sink;
static int wrong;

static QUIET void fill(void *object, size_t size, int seed)
{
    for (size_t i = 0; i < size; i++) ((unsigned char *)object)[i] = (unsigned char)(seed + 7 * (int)i) & 0x3f;
}

static QUIET void compare(const char *name, const void *found, const void *wanted, size_t size)
{
    if (!memcmp(found, wanted, size)) return;
    if (wrong++ < 10) printf("%s: not as passed\n", name);
}

/* A function of one type, and its test. bytes: those of the type without padding. */
#define GIVES(name, type)                                                                                              \
    static KEEP type give_##name(int second, type a, type b)                                                           \
    {                                                                                                                  \
        sink++;                                                                                                        \
        return second ? b : a;                                                                                         \
    }
#define TEST(name, type, bytes)                                                                                        \
    do {                                                                                                               \
        type a, b, r;                                                                                                  \
        fill(&a, bytes, i);                                                                                            \
        fill(&b, bytes, i + 31);                                                                                       \
        r = give_##name(i & 1, a, b);                                                                                  \
        compare(#name, &r, i & 1 ? &b : &a, bytes);                                                                    \
    } while (0)

typedef void *pointer;
typedef float _Complex complex_float;
typedef double _Complex complex_double;
typedef long double _Complex complex_long_double;
#define SCALARS(X)                                                                                                     \
    X(char, char, 1)                                                                                                   \
    X(short, short, 2)                                                                                                 \
    X(int, int, 4)                                                                                                     \
    X(long, long, 8)                                                                                                   \
    X(pointer, pointer, 8)                                                                                             \
    X(int128, __int128, 16)                                                                                            \
    X(float, float, 4)                                                                                                 \
    X(double, double, 8)                                                                                               \
    X(float128, __float128, 16)                                                                                        \
    X(long_double, long double, 10)                                                                                    \
    X(complex_float, complex_float, 8)                                                                                 \
    X(complex_double, complex_double, 16)

struct two_longs { long a, b; };
struct two_doubles { double a, b; };
struct long_double_ { long a; double b; };
struct double_long { double a; long b; };
struct three_floats { float a, b, c; };
struct bytes16 { char a[16]; };
struct bytes40 { char a[40]; };
struct only_x87 { long double a; };
#define STRUCTS(X)                                                                                                     \
    X(two_longs, struct two_longs, 16)                                                                                 \
    X(two_doubles, struct two_doubles, 16)                                                                             \
    X(long_and_double, struct long_double_, 16)                                                                        \
    X(double_and_long, struct double_long, 16)                                                                         \
    X(three_floats, struct three_floats, 12)                                                                           \
    X(bytes16, struct bytes16, 16)                                                                                     \
    X(bytes40, struct bytes40, 40)                                                                                     \
    X(only_x87, struct only_x87, 10)

#define DEFINE(name, type, bytes) GIVES(name, type)
#define DO(name, type, bytes) TEST(name, type, bytes);
SCALARS(DEFINE)
STRUCTS(DEFINE)

static KEEP complex_long_double give_complex_long_double(int second, complex_long_double a, complex_long_double b)
{
    sink++;
    return second ? b : a;
}

static KEEP void scalars(int i)
{
    SCALARS(DO)
    complex_long_double a = i + 0.5L + i * 3.0L * I, b = -a;
    if (give_complex_long_double(0, a, b) != a || give_complex_long_double(1, a, b) != b) {
        printf("complex_long_double: not as passed\n");
        wrong++;
    }
}

static KEEP void structs(int i)
{
    STRUCTS(DO)
}

static KEEP double sum(long a, double b, long c, float d, long e, double f, long g, double h, long i, double j, long k,
                       double l, long double m, double n, __int128 o, double p, double q)
{
    sink++;
    return (double)(a + c + e + g + i + k) + b + d + f + h + j + l + (double)m + n + (double)o + p + q;
}

static KEEP int fails(int i)
{
    errno = 1000 + i % 1000;
    return -1;
}

static KEEP void mixed(int i)
{
    double found = sum(i, 1.5, 2, 3.5f, 3, 4.5, 4, 5.5, 5, 6.5, 6, 7.5, 8.5L, 9.5, 10, 11.5, 12.5);
    double wanted = i + 20 + 1.5 + 3.5 + 4.5 + 5.5 + 6.5 + 7.5 + 8.5 + 9.5 + 10 + 11.5 + 12.5;
    compare("sum", &found, &wanted, sizeof found);
    int result = fails(i), number = errno, right = 1000 + i % 1000;
    compare("errno", &number, &right, sizeof number);
    right = -1;
    compare("fails", &result, &right, sizeof result);
}

static KEEP double total(const char *kinds, ...)
{
    va_list list;
    double all = 0;
    sink++;
    va_start(list, kinds);
    for (; *kinds; kinds++)
        all += *kinds == 'i' ? va_arg(list, int) : *kinds == 'd' ? va_arg(list, double) : (double)va_arg(list, long double);
    va_end(list);
    return all;
}

static KEEP void variadic(int i)
{
    double found = total("iidddddddddli", i, 1, .5, 1., 2., 3., 4., 5., 6., 7., 8., 16.L, 32) + total("ii", i, 2);
    double wanted = 2 * i + 1 + 36.5 + 16 + 32 + 2;
    compare("total", &found, &wanted, sizeof found);
}

/* Vectors of 16, 32 and 64 bytes: one result of two arguments, and one that needs eight of them. */
#define VECTORS(size, target_)                                                                                         \
    typedef long vector##size __attribute__((vector_size(size)));                                                      \
    static target_ KEEP vector##size give_##size(int second, vector##size a, vector##size b)                           \
    {                                                                                                                  \
        sink++;                                                                                                        \
        return second ? b : a;                                                                                         \
    }                                                                                                                  \
    static target_ KEEP vector##size eight_##size(vector##size a, vector##size b, vector##size c, vector##size d,      \
                                                  vector##size e, vector##size f, vector##size g, vector##size h)      \
    {                                                                                                                  \
        sink++;                                                                                                        \
        return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;                                              \
    }                                                                                                                  \
    static target_ KEEP void vectors##size(int i)                                                                      \
    {                                                                                                                  \
        vector##size v[8], found, wanted;                                                                              \
        for (int k = 0; k < 8; k++) fill(&v[k], size, i + k);                                                          \
        found = give_##size(i & 1, v[0], v[1]);                                                                        \
        compare("vector" #size, &found, &v[i & 1], size);                                                              \
        found = eight_##size(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]);                                          \
        for (int k = 0; k < size / 8; k++) {                                                                           \
            wanted[k] = 0;                                                                                             \
            for (int n = 0; n < 8; n++) wanted[k] += (n + 1) * v[n][k];                                                \
        }                                                                                                              \
        compare("eight vectors" #size, &found, &wanted, size);                                                         \
    }

VECTORS(16, )
#ifdef __x86_64__
VECTORS(32, __attribute__((target("avx2"))))
VECTORS(64, __attribute__((target("avx512f"))))

static KEEP __attribute__((ms_abi)) double windows_sum(long a, double b, long c, double d, double e)
{
    sink++;
    return (double)(a + c) + b + d + e;
}

/* A function of Windows keeps rdi, rsi and xmm6 to xmm15 for its caller. */
static KEEP void windows(int i)
{
    double v[10], found = 0, wanted = 0;
    long a = i + 1, b = i + 2;
    for (int k = 0; k < 10; k++) {
        v[k] = i + k;
        __asm__ volatile("" : "+x"(v[k]));
        wanted += (k + 1) * v[k];
    }
    __asm__ volatile("" : "+D"(a), "+S"(b));
    double sum = windows_sum(i, 1.5, 2, 3.5, 4.5);
    __asm__ volatile("" : "+D"(a), "+S"(b));
    for (int k = 0; k < 10; k++) found += (k + 1) * v[k];
    compare("registers over a call of a function of Windows", &found, &wanted, sizeof found);
    found = sum + (double)(a + b);
    wanted = 3 * i + 14.5;
    compare("sum of Windows", &found, &wanted, sizeof found);
}
#endif

#ifndef __clang__
static KEEP int apply(int (*function)(int), int x)
{
    sink++;
    return function(x);
}

static KEEP void nested(int i)
{
    int more = i;
    __attribute__((noinline)) int add(int x)
    {
        sink++;
        return x + more++;
    }
    int found = add(1) + apply(add, 2) + add(3), wanted = 3 * i + 9;
    compare("nested", &found, &wanted, sizeof found);
}
#endif

static QUIET void group(const char *name, int there, void (*function)(int), int times)
{
    if (!there) times = 0;
    for (int i = 0; i < times; i++) function(i);
    printf("%s %d ", name, times);
}

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 10;
    group("scalars", 1, scalars, times);
    group("structs", 1, structs, times);
    group("mixed", 1, mixed, times);
    group("variadic", 1, variadic, times);
    group("vectors16", 1, vectors16, times);
#ifdef __x86_64__
    group("windows", 1, windows, times);
    group("vectors32", __builtin_cpu_supports("avx2"), vectors32, times);
    group("vectors64", __builtin_cpu_supports("avx512f"), vectors64, times);
#endif
#ifndef __clang__
    group("nested", 1, nested, times);
#endif
    printf("\n");
    return wrong > 0;
}
