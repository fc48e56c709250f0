/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread allocates a block, and the program prints its first byte. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *allocate(void *size) { return calloc(1, (size_t)size); }

int main(void)
{
    pthread_t thread;
    void *block;
    if (pthread_create(&thread, NULL, allocate, (void *)32) || pthread_join(thread, &block) || !block) return 1;
    printf("%d\n", *(char *)block);
    free(block);
    return 0;
}
