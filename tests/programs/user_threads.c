// SPDX-License-Identifier: BSD-3-Clause
// user_threads ROUNDS: four threads start and end one region, count, and send each other messages around a ring.
#include "vt_user.h"
#include "program.h"

#define THREADS 4

static long rounds;
static unsigned int counter, ring;
static pthread_barrier_t barrier;

static void *work(void *argument)
{
    long me = (long)argument;
    for (long i = 0; i < rounds; i++) {
        VT_USER_START("round");
        VT_COUNT_SIGNED_VAL(counter, me * rounds + i);
        VT_MSG_SEND(ring, (unsigned int)(i * THREADS + me), (unsigned int)me);
        pthread_barrier_wait(&barrier);
        VT_MSG_RECV(ring, (unsigned int)(i * THREADS + (me + 1) % THREADS), (unsigned int)((me + 1) % THREADS));
        VT_USER_END("round");
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    rounds = argc > 1 ? atol(argv[1]) : 10;
    counter = VT_COUNT_DEF("count", "#", VT_COUNT_TYPE_SIGNED, VT_COUNT_DEFGROUP);
    ring = VT_MSG_COMM_DEF("ring");
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (long i = 1; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    work((void *)0L);
    for (long i = 1; i < THREADS; i++) pthread_join(threads[i], NULL);
    return 0;
}
