/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads open, write, duplicate and close at the same time, so that they get each other's old descriptors. They print
   nothing, since all do the same. */
#define _GNU_SOURCE
#include <pthread.h>
#include "io.h"

#define THREADS 4
#define ROUNDS 500

static void *work(void *number)
{
    char name[16], c;
    snprintf(name, sizeof name, "file%d", (int)(long)number);
    for (int i = 0; i < ROUNDS; i++) {
        int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600), copy;
        MUST(fd >= 0 && write(fd, "0123456789", 10) == 10);
        MUST((copy = dup(fd)) >= 0 && pread(copy, &c, 1, 5) == 1 && c == '5');
        MUST(!close(fd) && !close(copy));
        FILE *f = fopen(name, "r");
        MUST(f && fgetc(f) == '0' && !fclose(f));
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++) MUST(!pthread_create(&threads[i], NULL, work, (void *)i));
    for (int i = 0; i < THREADS; i++) MUST(!pthread_join(threads[i], NULL));
    return 0;
}
