/* SPDX-License-Identifier: BSD-3-Clause */
/* handler CALLS SIGNALS: main 1 -> work CALLS, while another thread sends up to SIGNALS signals to it: on_signal 1 ->
   handled 1 each. Prints the number of handlers that ran. */
#include "program.h"

static volatile long sink, handlers, finished;
static long signals;
static pthread_t target;

KEEP void work(long i) { sink += i; }

KEEP void handled(void) { handlers++; }

static void on_signal(int unused)
{
    (void)unused;
    handled();
}

static QUIET void *send(void *unused)
{
    for (long i = 0; i < signals && !finished; i++) {
        long before = handlers;
        pthread_kill(target, SIGUSR1);
        while (handlers == before && !finished);
    }
    return unused;
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    pthread_t sender;
    long calls = atol(argv[1]);
    signals = atol(argv[2]);
    target = pthread_self();
    signal(SIGUSR1, on_signal);
    pthread_create(&sender, 0, send, 0);
    while (!handlers);
    for (long i = 0; i < calls; i++) {
        long seen = handlers;
        while (i % 1000 == 0 && handlers == seen &&
               handlers < signals); /* the other thread may have to wait for a processor */
        work(i);
    }
    finished = 1;
    pthread_join(sender, 0);
    printf("%ld\n", handlers);
    return 0;
}
