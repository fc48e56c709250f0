/* SPDX-License-Identifier: BSD-3-Clause */
/* For programs that do the same again and again, in threads or children, until they are killed. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* The program defines it. */
void *repeat(void *unused);

static void in_threads(void)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, repeat, NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
}

static void in_children(void)
{
    for (int i = 0; i < 3; i++) {
        if (fork()) continue;
        repeat(NULL);
        exit(0);
    }
    while (wait(NULL) > 0) {}
}

/* Returns numbers in the file "counts", which outlive a killed process. */
static unsigned long *shared_counts(void)
{
    int file = open("counts", O_RDWR | O_CREAT, 0600);
    if (ftruncate(file, 4096)) exit(1);
    return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
}
