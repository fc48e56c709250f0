/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs for SECONDS (1): two threads alternate, until a signal or the end. */
#include <pthread.h>
#include <unistd.h>
#ifndef SECONDS
#define SECONDS 1
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void serve(void)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    usleep(10000);
}

static void *worker(void *unused)
{
    for (int turn = 0; turn < SECONDS * 100; turn++) serve();
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, worker, 0);
    worker(0);
    pthread_join(thread, 0);
    return 0;
}
