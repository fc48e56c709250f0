/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI programs with one property of their I/O each: io_plants PROPERTY [STEPS [MS]]. A write takes an exact time: into
   a full socket it returns after the socket's time limit. */
#include "work.h"

#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define BASE 10 /* ms of each rank and step in compute() */

static int rank, size, steps = 20, step, output = -1;
static double ms = 20;
static char line[64];

WORKER(compute)
WORKER(format_text)

static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }

static int limited(double limit) /* a full socket */
{
    int ends[2], small = 1;
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    struct timeval time = {(time_t)(limit / 1e3), (suseconds_t)(1e3 * limit) % 1000000};
    while (send(ends[0], line, sizeof line, MSG_DONTWAIT) > 0) {}
    setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
    return ends[0];
}

static __attribute__((noinline)) void store(double limit)
{
    if (output < 0) output = limited(limit);
    if (write(output, line, sizeof line) > 0) abort();
}

static void io_by_one(void)
{
    compute(BASE);
    if (!rank) store(ms);
    barrier();
}

static void uneven_io(void)
{
    compute(BASE);
    store(rank == size - 1 ? 2 + ms : 2);
    barrier();
}

static void long_io(void)
{
    compute(BASE);
    store(ms);
    barrier();
}

static void format_by_one(void)
{
    compute(BASE);
    if (!rank) format_text(ms);
    barrier();
}

static void small_writes(void)
{
    static int file = -1;
    if (file < 0) {
        snprintf(line, sizeof line, "small.%d", rank);
        file = open(line, O_CREAT | O_TRUNC | O_WRONLY, 0666);
    }
    compute(2);
    for (int i = 0; i < 10000; i++)
        if (write(file, line, 16) != 16) abort();
    barrier();
}

static void wait_at_close(void)
{
    MPI_File file;
    compute(BASE);
    MPI_File_open(MPI_COMM_WORLD, "closed", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    if (!rank) format_text(ms);
    MPI_File_write_at(file, (MPI_Offset)sizeof line * rank, line, sizeof line, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

static void healthy_io(void)
{
    static FILE *file;
    if (!file) {
        snprintf(line, sizeof line, "healthy.%d", rank);
        file = fopen(line, "w");
    }
    compute(BASE + ms);
    fwrite(line, sizeof line, 1, file);
    barrier();
}

#define PROPERTY(name) {#name, name}
static const struct {
    const char *name;
    void (*one_step)(void);
} properties[] = {
    PROPERTY(io_by_one),    PROPERTY(uneven_io),     PROPERTY(long_io),    PROPERTY(format_by_one),
    PROPERTY(small_writes), PROPERTY(wait_at_close), PROPERTY(healthy_io),
};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 2) steps = atoi(argv[2]);
    if (argc > 3) ms = atof(argv[3]);
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
        if (!strcmp(argv[1], properties[i].name))
            for (step = 0; step < steps; step++) properties[i].one_step();
    MPI_Finalize();
}
