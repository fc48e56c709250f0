/* SPDX-License-Identifier: BSD-3-Clause */
/* Closes its standard streams, and allocates memory and writes to a file afterwards. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) static int work(int file) { return write(file, "hello\n", 6) != 6; }

int main(void)
{
    for (int i = 0; i < 3; i++) close(i);
    int file = open("/dev/null", O_WRONLY), bad = 0;
    void *volatile block = malloc(6);
    free(block);
    for (int i = 0; i < 5; i++) bad += work(file);
    return bad ? 1 : 3;
}
