/* SPDX-License-Identifier: BSD-3-Clause */
/* Each byte by one layer: rank r writes 100 + r bytes ROUNDS times into `shared` by MPI-IO (independent, collective and
   non-blocking), 10 bytes ROUNDS times into `stream.R` by a stream whose own write function calls write(2), and 7 bytes
   ROUNDS times into `plain.R` by write(2). Then it reads all bytes of `shared` again by MPI-IO. */
#define _GNU_SOURCE
#include <mpi.h>
#include "program.h"

#define ROUNDS 5

static char data[4096];

static void shared(int rank)
{
    MPI_File file;
    MPI_Request request;
    const int size = 100 + rank;
    MPI_File_open(MPI_COMM_WORLD, "shared", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    for (int i = 0; i < ROUNDS; i++) {
        const MPI_Offset at = (MPI_Offset)4096 * (3 * (rank * ROUNDS + i));
        MPI_File_write_at(file, at, data, size, MPI_BYTE, MPI_STATUS_IGNORE);
        MPI_File_write_at_all(file, at + 4096, data, size, MPI_BYTE, MPI_STATUS_IGNORE);
        MPI_File_iwrite_at(file, at + 8192, data, size, MPI_BYTE, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_File_read_at(file, at, data, size, MPI_BYTE, MPI_STATUS_IGNORE);
    }
    MPI_File_close(&file);
}

static ssize_t below(void *cookie, const char *bytes, size_t size) { return write(*(int *)cookie, bytes, size); }

static void stream(int rank)
{
    char name[32];
    snprintf(name, sizeof name, "stream.%d", rank);
    int file = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    FILE *out = fopencookie(&file, "w", (cookie_io_functions_t){.write = below});
    setvbuf(out, NULL, _IONBF, 0);
    for (int i = 0; i < ROUNDS; i++) fwrite(data, 10, 1, out);
    fclose(out);
    close(file);
}

static void plain(int rank)
{
    char name[32];
    snprintf(name, sizeof name, "plain.%d", rank);
    int file = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    for (int i = 0; i < ROUNDS; i++)
        if (write(file, data, 7) != 7) break;
    close(file);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    shared(rank);
    stream(rank);
    plain(rank);
    MPI_Finalize();
    return 0;
}
