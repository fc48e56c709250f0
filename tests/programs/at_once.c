/* SPDX-License-Identifier: BSD-3-Clause */
/* at_once THREADS CALLS: all threads begin at once, each -> work CALLS; then main prints the MiB of the buffer's file and the
   KiB of memory that the process has, before the threads end. */
#include <glob.h>
#include "program.h"

static pthread_barrier_t together;
static volatile long sink;
static long calls;

KEEP void work(long i) { sink += i; }

static QUIET void *run(void *unused)
{
    pthread_barrier_wait(&together);
    for (long i = 0; i < calls; i++) work(i);
    pthread_barrier_wait(&together);
    pthread_barrier_wait(&together);
    return unused;
}

static QUIET long resident(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*d %ld", &pages) != 1) exit(3);
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

QUIET int main(int argc, char **argv)
{
    int n = argc == 3 ? atoi(argv[1]) : 0;
    pthread_t *threads = malloc((size_t)n * sizeof *threads);
    pthread_attr_t small;
    glob_t found;
    struct stat file = {0};
    calls = argc == 3 ? atol(argv[2]) : 0;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    pthread_barrier_init(&together, NULL, (unsigned)n + 1);
    for (int i = 0; i < n; i++)
        if (pthread_create(&threads[i], &small, run, NULL)) return 3;
    pthread_barrier_wait(&together);
    pthread_barrier_wait(&together);
    if (!glob("*.buffer", 0, NULL, &found)) stat(found.gl_pathv[0], &file);
    printf("%ld %ld\n", (long)(file.st_size >> 20), resident());
    pthread_barrier_wait(&together);
    for (int i = 0; i < n; i++) pthread_join(threads[i], NULL);
    return 0;
}
