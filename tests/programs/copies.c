/* SPDX-License-Identifier: BSD-3-Clause */
/* copies: calls work 7 times. gcc -O3 -fipa-cp-clone makes copies of it for the kinds 1 and 2. */
__attribute__((noinline)) int work(int n, int kind)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        __asm__ volatile("" : "+r"(sum));
        sum += kind == 1 ? i : kind == 2 ? 3 * i : kind * (i ^ n);
    }
    return sum;
}

int main(int argc, char **argv)
{
    int sum = 0;
    for (int i = 0; i < 3; i++) sum += work(argc + i, 1) + work(argc - i, 2);
    sum += work(argc, argc);
    return sum == 1;
}
