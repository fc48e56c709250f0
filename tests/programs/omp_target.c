/* SPDX-License-Identifier: BSD-3-Clause */
/* Target regions of OpenMP with counts in closed form:  omp_target HOW [ROUNDS]
     order   one target data of 8000 bytes to the device and back; in it ROUNDS times: a target region, and an update of
             80 bytes to the host; then an allocation, a copy of 80 bytes to the device, and a release by functions
     nowait  ROUNDS target regions that nothing waits for, until a taskwait; each copies 8 bytes both ways
     fork    the parent as order; its child ends at once
     kill    as order; then SIGKILL */
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

#define N 1000

static double values[N];

__attribute__((noinline)) static void order(int rounds)
{
#pragma omp target data map(tofrom : values)
    for (int round = 0; round < rounds; round++) {
#pragma omp target
        for (int i = 0; i < N; i++) values[i] += 1;
#pragma omp target update from(values[0 : 10])
    }
    void *device = omp_target_alloc(80, 0);
    omp_target_memcpy(device, values, 80, 0, 0, 0, omp_get_initial_device());
    omp_target_free(device, 0);
}

__attribute__((noinline)) static void nowait(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        double *one = &values[round];
#pragma omp target map(tofrom : one[0 : 1]) nowait
        one[0] += 1;
    }
#pragma omp taskwait
}

int main(int argc, char **argv)
{
    const char *how = argv[1];
    int rounds = argc > 2 ? atoi(argv[2]) : 1;
#ifdef WITH_MPI
    MPI_Init(&argc, &argv);
#endif
    if (!strcmp(how, "nowait")) nowait(rounds);
    else order(rounds);
    if (!strcmp(how, "kill")) raise(SIGKILL);
    if (!strcmp(how, "fork")) {
        pid_t child = fork();
        if (!child) _exit(0);
        waitpid(child, NULL, 0);
    }
    printf("%g\n", values[0]);
#ifdef WITH_MPI
    MPI_Finalize();
#endif
    return 0;
}
