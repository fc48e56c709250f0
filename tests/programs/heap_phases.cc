// SPDX-License-Identifier: BSD-3-Clause
// Memory in every phase of a process: static objects, thread_local objects and keys with destructors, a library that is
// opened and closed, a fork while threads hold blocks, a timer whose handler does I/O. Prints the number of blocks and
// usable bytes by which the heap grows from begin() to end().  heap_phases PLUGIN THREADS ROUNDS
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include "keep.h"

#define MOST 64

static std::atomic<long> bytes, blocks; // memory that this program keeps, by its own count
static pthread_key_t key, late_key;
static pthread_barrier_t together;
static long rounds;
static int sink;

static QUIET void *take(size_t n)
{
    void *block = malloc(n);
    if (!block) abort();
    bytes += (long)malloc_usable_size(block);
    blocks++;
    return block;
}

static QUIET void give(void *block)
{
    bytes -= (long)malloc_usable_size(block);
    blocks--;
    free(block);
}

extern "C" KEEP void *static_begin() { return take(1000); }
extern "C" KEEP void static_end(void *block) { give(block); }
struct Static {
    void *block;
    QUIET Static() : block(static_begin()) {}
    QUIET ~Static() { static_end(block); }
};
static Static before_and_after_main;

extern "C" KEEP void object_end(void *block) { give(block); }
struct Object {
    void *block;
    QUIET Object() : block(take(200)) {}
    QUIET ~Object() { object_end(block); }
};
static thread_local Object object;

/* The block set by the thread, a block for a later round of destructors, and a block that stays. */
extern "C" KEEP void late_end(void *block) { give(block); }
extern "C" KEEP void key_end(void *block)
{
    give(block);
    pthread_setspecific(late_key, take(400));
    take(16);
}

static QUIET void *body(void *unused)
{
    if (!object.block) abort();
    pthread_setspecific(key, take(300));
    for (long i = 0; i < rounds; i++) give(take((size_t)(i * 37 % 3000)));
    return unused;
}

static QUIET void *waits(void *unused)
{
    void *held = take(5000);
    pthread_barrier_wait(&together);
    pthread_barrier_wait(&together);
    give(held);
    return unused;
}

static QUIET void threads(int n, void *(*function)(void *), void (*meanwhile)(int))
{
    pthread_t thread[MOST];
    for (int i = 0; i < n; i++)
        if (pthread_create(&thread[i], NULL, function, NULL)) abort();
    if (meanwhile) meanwhile(n);
    for (int i = 0; i < n; i++) pthread_join(thread[i], NULL);
}

extern "C" KEEP void child() { give(take(600)); }
static QUIET void fork_meanwhile(int)
{
    int status;
    pthread_barrier_wait(&together);
    pid_t pid = fork();
    if (!pid) {
        child();
        _exit(0);
    }
    if (waitpid(pid, &status, 0) != pid || status) abort();
    pthread_barrier_wait(&together);
}

static QUIET void library(const char *path)
{
    void *plugin = dlopen(path, RTLD_NOW);
    if (!plugin || dlclose(plugin)) abort();
}

static QUIET void everything(const char *path, int n)
{
    threads(n, body, NULL);
    threads(n, waits, fork_meanwhile);
    library(path);
}

static QUIET void on_alarm(int)
{
    if (write(sink, "x", 1) != 1) abort();
}

extern "C" KEEP void begin() { __asm__ volatile(""); }
extern "C" KEEP void end() { __asm__ volatile(""); }

int main(int argc, char **argv)
{
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {};
    int n = argc > 3 ? atoi(argv[2]) : 0;
    if (n < 1 || n > MOST || (sink = dup(2)) < 0) return 2;
    pthread_key_create(&key, key_end);
    pthread_key_create(&late_key, late_end);
    pthread_barrier_init(&together, NULL, (unsigned)n + 1);
    everything(argv[1], n); // libc keeps the threads' stacks
    rounds = atol(argv[3]);
    long had_bytes = bytes, had_blocks = blocks;
    begin();
    action.sa_handler = on_alarm;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    threads(n, body, NULL);
    setitimer(ITIMER_REAL, &never, NULL);
    threads(n, waits, fork_meanwhile);
    library(argv[1]);
    end();
    char line[64];
    int length = snprintf(line, sizeof line, "%ld %ld\n", bytes - had_bytes, blocks - had_blocks);
    return write(STDOUT_FILENO, line, (size_t)length) != length;
}
