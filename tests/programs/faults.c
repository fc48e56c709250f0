/* SPDX-License-Identifier: BSD-3-Clause */
/* faults HOW THREADS PIPE: main and THREADS threads call a function of their own, w0 to w7, 100 + 10 times its number +
   rank times. Then the process writes a line "RANK NUMBER CALLS PID" for each thread into PIPE, and ends by HOW: kill,
   segv, abort, term, xcpu, mpi_abort (on the last rank; the others wait), _exit, quick_exit, exec, return, wait (for a
   signal). The threads wait meanwhile. With -DMPI it is an MPI program without MPI_Finalize. */
#ifdef MPI
#include <mpi.h>
#endif
#include "program.h"

#define MOST 8

static volatile long sink;
static int rank, ranks = 1;
static pthread_barrier_t all_done;

/* clang-format off */
#define DEFINE(n) KEEP void w##n(long i) { sink = i; }
DEFINE(0) DEFINE(1) DEFINE(2) DEFINE(3) DEFINE(4) DEFINE(5) DEFINE(6) DEFINE(7)
static void (*const functions[MOST])(long) = {w0, w1, w2, w3, w4, w5, w6, w7};
/* clang-format on */

static QUIET long wanted(int number) { return 100 + 10 * number + rank; }

static QUIET void calls(int number)
{
    for (long i = 0; i < wanted(number); i++) functions[number](i);
}

static QUIET void *body(void *number)
{
    calls((int)(intptr_t)number);
    pthread_barrier_wait(&all_done);
    for (;;) pause();
    return 0;
}

static QUIET void tell(const char *pipe, int threads)
{
    char text[64];
    int fd = open(pipe, O_WRONLY);
    for (int i = 0; i <= threads; i++) {
        int n = snprintf(text, sizeof text, "%d %d %ld %d\n", rank, i, wanted(i), getpid());
        if (write(fd, text, (size_t)n) != n) exit(9);
    }
    close(fd);
}

static QUIET int end(const char *how, char **argv)
{
    static const char *const of_all[] = {"_exit", "quick_exit", "exec", "return"};
    int mine = rank == ranks - 1;
    for (int i = 0; i < 4; i++) mine |= !strcmp(how, of_all[i]);
    if (!mine) how = "wait";
    if (!strcmp(how, "kill")) kill(getpid(), SIGKILL);
    if (!strcmp(how, "segv")) *(volatile int *)8 = 0;
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "term")) kill(getpid(), SIGTERM);
    if (!strcmp(how, "xcpu")) kill(getpid(), SIGXCPU);
#ifdef MPI
    if (!strcmp(how, "mpi_abort")) MPI_Abort(MPI_COMM_WORLD, 3);
#endif
    if (!strcmp(how, "_exit")) _exit(0);
    if (!strcmp(how, "quick_exit")) quick_exit(0);
    if (!strcmp(how, "exec")) execl("/bin/true", argv[0], (char *)0);
    while (!strcmp(how, "wait")) pause();
    return 0;
}

QUIET int main(int argc, char **argv)
{
    struct rlimit none = {0, 0};
    pthread_t thread;
    if (argc != 4) return 2;
    int threads = atoi(argv[2]);
    setrlimit(RLIMIT_CORE, &none);
#ifdef MPI
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
#endif
    pthread_barrier_init(&all_done, 0, (unsigned)threads + 1);
    for (int i = 1; i <= threads; i++)
        if (pthread_create(&thread, 0, body, (void *)(intptr_t)i)) return 1;
    calls(0);
    pthread_barrier_wait(&all_done);
    tell(argv[3], threads);
#ifdef MPI
    MPI_Barrier(MPI_COMM_WORLD);
#endif
    return end(argv[1], argv);
}
