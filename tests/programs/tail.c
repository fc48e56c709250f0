/* SPDX-License-Identifier: BSD-3-Clause */
/* tail: main calls outer three times. The last act of outer is to call inner. */
__attribute__((noinline)) void inner(int i) { __asm__ volatile("" : : "r"(i)); }

__attribute__((noinline)) void outer(int i)
{
    __asm__ volatile("" : : "r"(i));
    inner(i + 1);
}

int main(void)
{
    for (int i = 0; i < 3; i++) outer(i);
    return 0;
}
