/* SPDX-License-Identifier: BSD-3-Clause */
/* indirect: calls work and chosen three times. The loader chooses their code: there are copies of work, and two functions
   for chosen. */
#ifndef __clang__
__attribute__((noinline)) /* clang refuses it beside target_clones, and does not inline such functions */
#endif
__attribute__((target_clones("avx2", "default"))) int work(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        __asm__ volatile("" : "+r"(sum));
        sum += i * i;
    }
    return sum;
}

static int one(int x)
{
    __asm__ volatile("");
    return x + 1;
}

static int (*choose(void))(int) { return one; }

int chosen(int x) __attribute__((ifunc("choose")));

int main(void)
{
    int sum = 0;
    for (int i = 0; i < 3; i++) sum += work(10) + chosen(i);
    return sum != 3 * 285 + 6;
}
