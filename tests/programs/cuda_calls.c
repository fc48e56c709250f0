/* SPDX-License-Identifier: BSD-3-Clause */
/* Plays a program that uses CUDA, with cupti_fake.c: cuda_calls HOW N. As CUDA's driver does, it loads the tool that
   CUDA_INJECTION64_PATH names. */
#include "cupti_fake.h"
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

static const char scale[] = "_Z5scalePfi", twice[] = "twice"; /* scale(float*, int) */

static void init(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *tool = path ? dlopen(path, RTLD_NOW) : NULL;
    int (*inject)(void) = tool ? (int (*)(void))dlsym(tool, "InitializeInjection") : NULL;
    if (path && !inject) fprintf(stderr, "%s\n", dlerror());
    if (inject) inject();
}

static struct fake_activity kernel(uint32_t stream, int64_t length)
{
    return (struct fake_activity){.what = FAKE_KERNEL, .stream = stream, .length = length, .name = scale};
}

static struct fake_activity copy(uint32_t kind, uint64_t bytes)
{
    return (struct fake_activity){.what = FAKE_COPY, .stream = 7, .copy = kind, .bytes = bytes, .length = 20000};
}

static void launch(uint32_t stream, int64_t length)
{
    fake_call(
        &(struct fake_call){"cudaLaunchKernel", "cuLaunchKernel", .n = 1, .activities = {kernel(stream, length)}});
}

static void wait_for_device(void) { fake_call(&(struct fake_call){"cudaDeviceSynchronize", NULL, .waits = 1}); }

/* 4 activities of 4 commands. */
static void do_round(uint32_t stream)
{
    struct fake_activity to = copy(1, 4096), on = copy(8, 2048), back = copy(2, 1024);
    struct fake_activity set = {.what = FAKE_SET, .stream = stream, .bytes = 512, .length = 5000};
    to.stream = on.stream = back.stream = stream;
    fake_call(&(struct fake_call){"cudaMemcpy", "cuMemcpyHtoD", .waits = 1, .n = 1, .activities = {to}});
    launch(stream, 50000);
    fake_call(&(struct fake_call){"cudaGetLastError", "cuCtxGetCurrent", .n = 0});
    fake_call(&(struct fake_call){"cudaMemcpyAsync", NULL, .n = 1, .activities = {on}});
    fake_call(&(struct fake_call){"cudaMemset", NULL, .n = 1, .activities = {set}});
    fake_call(&(struct fake_call){"cudaMemcpy", NULL, .waits = 1, .n = 1, .activities = {back}});
}

static void order(int n)
{
    fake_call(&(struct fake_call){"cudaGetDeviceCount", "cuInit", .n = 0});
    fake_call(&(struct fake_call){"cudaMalloc", .n = 0});
    for (int i = 0; i < n; i++) do_round(7);
    fake_call(&(struct fake_call){"cuLaunchKernel", NULL, .is_driver = 1, .n = 1, .activities = {kernel(7, 1000)}});
    wait_for_device();
}

static pthread_barrier_t start; /* no thread ends before the last begins: the last would continue its location */

static void *on_stream(void *number)
{
    pthread_barrier_wait(&start);
    for (int i = 0; i < 10; i++) do_round((uint32_t)(uintptr_t)number);
    return NULL;
}

static void threads(int n)
{
    pthread_t all[16];
    pthread_barrier_init(&start, NULL, (unsigned)n);
    for (int i = 0; i < n; i++) pthread_create(&all[i], NULL, on_stream, (void *)(uintptr_t)(20 + i));
    for (int i = 0; i < n; i++) pthread_join(all[i], NULL);
    wait_for_device();
}

/* A graph of 5 kernels, the first two at the same time, and a copy. */
static void graph(int n)
{
    for (int i = 0; i < n; i++) {
        struct fake_call call = {"cudaGraphLaunch", NULL, .n = 6};
        for (int k = 0; k < 5; k++) call.activities[k] = kernel(13, 100000);
        call.activities[1].overlaps = 1;
        call.activities[3].name = call.activities[4].name = twice;
        call.activities[5] = copy(9, 64);
        call.activities[5].stream = 13;
        fake_call(&call);
        wait_for_device();
    }
}

/* Copies between devices, and kernels of a second device. */
static void peers(int n)
{
    for (int i = 0; i < n; i++) {
        struct fake_activity peer = {
            .what = FAKE_PEER_COPY, .stream = 7, .copy = 10, .bytes = 1 << 20, .length = 30000};
        struct fake_activity other = kernel(8, 40000);
        other.device = 1;
        fake_call(&(struct fake_call){"cudaMemcpyPeer", NULL, .waits = 1, .n = 1, .activities = {peer}});
        fake_call(&(struct fake_call){"cudaLaunchKernel", NULL, .n = 1, .activities = {other}});
    }
    wait_for_device();
}

static struct fake_activity migration(uint32_t kind, uint64_t value)
{
    return (struct fake_activity){.what = FAKE_UNIFIED, .stream = 100, .copy = kind, .bytes = value, .length = 3000};
}

/* Pages that a kernel needs, that the host needs, and that a second device needs; faults of both sides. Those before the
   first allocation are of memory that CUDA does not manage. */
static void unified(int n)
{
    struct fake_call use = {"cudaLaunchKernel", NULL, .n = 3,
                            .activities = {migration(4, 5), migration(1, 65536), kernel(7, 9000)}};
    fake_call(&use);
    wait_for_device();
    fake_call(&(struct fake_call){"cudaGetLastError", .n = 0});
    fake_call(&(struct fake_call){"cudaMallocManaged", .n = 0});
    for (int i = 0; i < n; i++) {
        fake_call(&use);
        fake_call(&(struct fake_call){"cudaDeviceSynchronize", NULL, .waits = 1, .n = 3,
                                      .activities = {migration(3, 0x401000), migration(2, 4096), migration(8, 8192)}});
    }
}

/* Copies while no kernel runs, and kernels, each longer than a millisecond. */
static void alone(int n)
{
    for (int i = 0; i < n; i++) {
        struct fake_activity to = copy(1, 1 << 20);
        to.length = 2000000;
        fake_call(&(struct fake_call){"cudaMemcpy", NULL, .waits = 1, .n = 1, .activities = {to}});
        launch(7, 3000000);
        wait_for_device();
    }
}

/* thread: before a call that waits, so that CUPTI's own thread finds the full buffers. */
static void many(int n, int thread)
{
    for (int i = 0; i < n; i++) launch(7, 100);
    if (thread) fake_wait_for_thread();
    wait_for_device();
}

static void fork_child(int n)
{
    order(n);
    if (fork()) wait(NULL);
    else order(n);
}

static void do_it(const char *how, int n)
{
    if (!strcmp(how, "order")) order(n);
    else if (!strcmp(how, "threads")) threads(n);
    else if (!strcmp(how, "graph")) graph(n);
    else if (!strcmp(how, "peers")) peers(n);
    else if (!strcmp(how, "alone")) alone(n);
    else if (!strcmp(how, "unified")) unified(n);
    else if (!strcmp(how, "many")) many(n, 0);
    else if (!strcmp(how, "thread")) many(n, 1);
    else if (!strcmp(how, "fork")) fork_child(n);
    else if (!strcmp(how, "unfinished")) launch(7, 1000), launch(7, -1);
    else if (!strcmp(how, "taken")) order(n), launch(9, 10), fake_take_over(), order(n);
    else if (!strcmp(how, "hold")) fake_hold(10), many(n, 0);
    else if (!strcmp(how, "cut")) order(n), fake_cut_record(), order(n);
    else if (!strcmp(how, "streams"))
        for (int i = 0; i < n; i++) launch((uint32_t)i, 100), wait_for_device();
    else if (!strcmp(how, "quick")) order(n), quick_exit(3);
    else if (!strcmp(how, "reset")) order(n), fake_call(&(struct fake_call){"cudaDeviceReset", .n = 0}), raise(SIGKILL);
    else if (!strcmp(how, "kill") || !strcmp(how, "abort")) {
        order(n);
        sleep(1); /* the next call that waits flushes */
        order(n);
        if (!strcmp(how, "abort")) abort();
        raise(SIGKILL);
    }
}

int main(int argc, char **argv)
{
#ifdef WITH_MPI
    int rank = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#endif
    const int n = argc > 2 ? atoi(argv[2]) : 1;
    init();
    do_it(argv[1], n);
#ifdef WITH_MPI
    if (!strcmp(argv[1], "slower"))
        for (int i = 0; i < n; i++) launch(7, rank ? 6000000 : 2000000), wait_for_device();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
#endif
    printf("done\n");
    return 3;
}
