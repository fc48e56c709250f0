/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that free each other's blocks, many short threads, a timer whose handler records, and a child. From begin()
   to end() the heap does not grow.  heap_threads THREADS PAIRS SHORT */
#define _GNU_SOURCE
#include "program.h"

#define SLOTS 512
#define MOST 64
#define BIG (1 << 20) /* above the threshold of the test: blocks of the main thread are recorded */

static _Atomic(void *) slots[SLOTS];
static pthread_barrier_t together;
static pthread_attr_t small;
static long pairs;

static QUIET void *body(void *number)
{
    uint32_t random = (uint32_t)(uintptr_t)number * 7919 + 1;
    pthread_barrier_wait(&together);
    for (long i = 0; i < pairs; i++) {
        random = random * 1103515245 + 12345;
        void *block = malloc(random >> 8 & 2047);
        if (!block) abort();
        free(atomic_exchange(&slots[random >> 20 & (SLOTS - 1)], block));
    }
    return NULL;
}

static QUIET void *brief(void *bytes)
{
    free(malloc((size_t)bytes));
    return NULL;
}

static KEEP void on_alarm(int signal) { (void)signal; }

static KEEP void begin(void) { __asm__ volatile("# begin"); }
static KEEP void end(void) { __asm__ volatile("# end"); }

static QUIET void threads(int n, void *(*function)(void *))
{
    pthread_t thread[MOST];
    for (int i = 0; i < n; i++)
        if (pthread_create(&thread[i], &small, function, (void *)(uintptr_t)(i + 1))) abort();
    for (int i = 0; i < n; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < SLOTS; i++) free(atomic_exchange(&slots[i], NULL));
}

int main(int argc, char **argv)
{
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    int n = argc > 3 ? atoi(argv[1]) : 0, status;
    if (n < 1 || n > MOST) return 2;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 * 1024); /* libc keeps that many stacks and their memory */
    pthread_barrier_init(&together, NULL, (unsigned)n);
    threads(n, body);
    free(malloc(BIG));
    begin();
    pairs = atol(argv[2]);
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &often, NULL);
    threads(n, body);
    for (int i = atoi(argv[3]); i > 0; i -= n) threads(n, brief);
    setitimer(ITIMER_REAL, &never, NULL);
    pid_t child = fork();
    if (!child) {
        void *volatile block = malloc(100);
        free(block);
        _exit(7);
    }
    if (waitpid(child, &status, 0) != child) return 1;
    free(malloc(BIG));
    end();
    return WEXITSTATUS(status) == 7 ? 0 : 1;
}
