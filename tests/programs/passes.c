/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments and results of functions in registers of all kinds, and errno, must be as without hooks: exits with 0. main
   1 -> mixed 10, complex_ 10, vector 10, pair 10, fails 10. */
#include <complex.h>
#include "program.h"

typedef float four __attribute__((vector_size(16)));
struct pair {
    double first;
    long second;
};

KEEP double mixed(float a, double b, int c, long double d, double e, double f, double g, double h, double i, double j)
{
    return a + b + c + (double)d + e + f + g + h + i + j;
}

KEEP double _Complex complex_(double _Complex z)
{
    return z * I;
}

KEEP four vector(four a, four b)
{
    return a * b;
}

KEEP struct pair pair(double first, long second)
{
    return (struct pair){first * 2, second * 2};
}

KEEP int fails(int i)
{
    errno = 1000 + i;
    return -1;
}

int main(void)
{
    for (int i = 0; i < 10; i++) {
        four v = vector((four){1, 2, 3, (float)i}, (four){4, 5, 6, 7});
        struct pair p = pair(i + 0.5, i);
        if (mixed(1, 2, i, 4, 5, 6, 7, 8, 9, 10) != 52 + i) return 1;
        if (complex_(i + 2 * I) != -2 + i * I) return 2;
        if (v[0] != 4 || v[1] != 10 || v[2] != 18 || v[3] != 7 * (float)i) return 3;
        if (p.first != 2 * i + 1 || p.second != 2 * i) return 4;
        if (fails(i) != -1 || errno != 1000 + i) return 5;
    }
    return 0;
}
