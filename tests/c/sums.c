/* SPDX-License-Identifier: BSD-3-Clause */
/* The sums of threads. In each round, threads allocate and free a little, mark their end and end. The entries are
   reused and the sums stay. Then the same in a forked child. Prints ok. */
#include "memwrap/memwrap.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define AT_ONCE 80 /* more than fit in a page of sums */
#define ROUNDS 10

static _Atomic(struct vt_sums *) places[AT_ONCE * ROUNDS];
static _Atomic(unsigned) used;

static void *body(void *unused)
{
    for (int i = 0; i < 100; i++) {
        struct vt_sums *s = vt_sums_own();
        s->bytes += i % 2 ? -10 : 11;
        s->blocks += i % 2 ? -1 : 1;
    }
    places[used++] = vt_sums_own();
    atomic_store(&vt_sums_own()->ended, 1);
    return unused;
}

static int in_child(int64_t expected)
{
    vt_sums_inherit();
    return vt_sums_own()->bytes != expected || vt_sums_own()->blocks != 0;
}

int main(void)
{
    pthread_t thread[AT_ONCE];
    int status;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < AT_ONCE; i++)
            if (pthread_create(&thread[i], NULL, body, NULL)) return 1;
        for (int i = 0; i < AT_ONCE; i++) pthread_join(thread[i], NULL);
    }
    const int64_t expected = (int64_t)AT_ONCE * ROUNDS * 50;
    unsigned again = 0;
    for (unsigned i = 1; i < used; i++) again += places[i] == places[i - 1] || places[i] == places[0];
    if (!again) return puts("no place was used again"), 1;
    pid_t child = fork();
    if (!child) _exit(in_child(expected));
    if (waitpid(child, &status, 0) != child || status) return puts("the child has other sums"), 1;
    puts("ok");
    return 0;
}
