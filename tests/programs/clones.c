// SPDX-License-Identifier: BSD-3-Clause
/* Functions under the names that compilers give to clones and parts of a function: main 1 -> solve.constprop.0 2,
   solve.part.1.isra.0 3, solve.other 4, .part.0 5. */
#include "keep.h"

KEEP void first(void) __asm__("solve.constprop.0");
KEEP void second(void) __asm__("solve.part.1.isra.0");
KEEP void third(void) __asm__("solve.other");
KEEP void fourth(void) __asm__(".part.0");

static volatile int sink;

void first(void) { sink = 1; }
void second(void) { sink = 2; }
void third(void) { sink = 3; }
void fourth(void) { sink = 4; }

int main(void)
{
    for (int i = 0; i < 2; i++) first();
    for (int i = 0; i < 3; i++) second();
    for (int i = 0; i < 4; i++) third();
    for (int i = 0; i < 5; i++) fourth();
    return 0;
}
