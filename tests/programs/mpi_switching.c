/* SPDX-License-Identifier: BSD-3-Clause */
/* One thread calls functions while another thread switches recording off and on. */
#include <mpi.h>
#include "program.h"

static atomic_int over;
static atomic_long calls, allowed; /* limits the calls of the thread while main gets no processor */

static __attribute__((noinline)) void inner(void) { atomic_fetch_add(&calls, 1); }

static __attribute__((noinline)) void middle(int deep)
{
    inner();
    if (deep) middle(deep - 1);
    inner();
}

static __attribute__((noinline)) void outer(void)
{
    for (int i = 0; i < 10; i++) middle(3);
}

static void *work(void *none)
{
    while (!atomic_load(&over))
        if (atomic_load(&calls) < atomic_load(&allowed)) outer();
    return none;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    pthread_create(&thread, NULL, work, NULL);
    for (int i = 0; i < 100; i++) {
        const long until = atomic_load(&calls) + 50 + i % 7;
        atomic_store(&allowed, until + 2000);
        MPI_Pcontrol(i % 2);
        while (atomic_load(&calls) < until);
    }
    atomic_store(&over, 1);
    pthread_join(thread, NULL);
    MPI_Finalize();
    return 0;
}
