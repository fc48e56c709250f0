/* SPDX-License-Identifier: BSD-3-Clause */
/* contained: 3 threads write 20 times each into files of their own; a forked child writes 5 times, and main waits for it.
   Prints a line, and returns 7. */
#include "program.h"

#define THREADS 3

static void put(const char *name, int times)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (int i = 0; i < times; i++)
        if (write(fd, "0123456789", 10) != 10) abort();
    close(fd);
}

static void *work(void *name)
{
    put(name, 20);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    char names[THREADS][8];
    int status = 1;
    for (int i = 0; i < THREADS; i++) {
        snprintf(names[i], sizeof names[i], "file%d", i);
        if (pthread_create(&threads[i], NULL, work, names[i])) return 1;
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    pid_t child = fork();
    if (!child) {
        put("child", 5);
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child || status) return 1;
    puts("works");
    return 7;
}
