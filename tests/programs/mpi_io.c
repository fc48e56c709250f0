/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_io [FILE]: each kind of MPI-IO call, on two ranks. Rank r transfers 16 + r bytes in each operation. The program
   fails if it reads other data than it has written. */
#include <mpi.h>
#include "program.h"

static int rank, failures;
static char out[32], in[32];
static MPI_File file;

static int bytes(void) { return 16 + rank; }

/* The next data read must be the letter that this rank writes. */
static void check(const char *where)
{
    for (int i = 0; i < bytes(); i++)
        if (in[i] != out[i]) {
            fprintf(stderr, "rank %d reads wrong bytes in %s\n", rank, where);
            failures++;
            break;
        }
    memset(in, 0, sizeof in);
    for (int i = 0; i < 32; i++) out[i]++;
}

static MPI_Offset place(void) { return 32 * rank; }

static void seek(void) { MPI_File_seek(file, place(), MPI_SEEK_SET); }

static void alone(void)
{
    MPI_Status status;
    MPI_File_write_at(file, place(), out, bytes(), MPI_CHAR, &status);
    MPI_File_read_at(file, place(), in, bytes(), MPI_CHAR, MPI_STATUS_IGNORE);
    check("read_at");
    seek();
    MPI_File_write(file, out, bytes(), MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_seek(file, -bytes(), MPI_SEEK_CUR);
    MPI_File_read(file, in, bytes(), MPI_CHAR, &status);
    check("read");
}

static void together(void)
{
    MPI_File_write_at_all(file, place(), out, bytes(), MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_read_at_all(file, place(), in, bytes(), MPI_CHAR, MPI_STATUS_IGNORE);
    check("read_at_all");
    seek();
    MPI_File_write_all(file, out, bytes(), MPI_CHAR, MPI_STATUS_IGNORE);
    seek();
    MPI_File_read_all(file, in, bytes(), MPI_CHAR, MPI_STATUS_IGNORE);
    check("read_all");
}

/* Rank 0 moves the shared pointer. It may do so while others have not completed the previous call. */
static __attribute__((no_instrument_function)) void rewind_shared(MPI_Offset to)
{
    PMPI_Barrier(MPI_COMM_WORLD);
    MPI_File_seek_shared(file, to, MPI_SEEK_SET);
}

static void shared(void)
{
    rewind_shared(64);
    MPI_File_write_ordered(file, out, bytes(), MPI_CHAR, MPI_STATUS_IGNORE);
    rewind_shared(64);
    MPI_File_read_ordered(file, in, bytes(), MPI_CHAR, MPI_STATUS_IGNORE);
    check("read_ordered");
    rewind_shared(128);
    MPI_File_write_shared(file, out, bytes(), MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    rewind_shared(0);
    MPI_File_read_shared(file, in, bytes(), MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void split(void)
{
    MPI_Status status;
    MPI_File_write_at_all_begin(file, place(), out, bytes(), MPI_CHAR);
    MPI_File_write_at_all_end(file, out, &status);
    MPI_File_read_at_all_begin(file, place(), in, bytes(), MPI_CHAR);
    MPI_File_read_at_all_end(file, in, MPI_STATUS_IGNORE);
    check("read_at_all_end");
    seek();
    MPI_File_write_all_begin(file, out, bytes(), MPI_CHAR);
    MPI_File_write_all_end(file, out, MPI_STATUS_IGNORE);
    seek();
    MPI_File_read_all_begin(file, in, bytes(), MPI_CHAR);
    MPI_File_read_all_end(file, in, &status);
    check("read_all_end");
    rewind_shared(64);
    MPI_File_write_ordered_begin(file, out, bytes(), MPI_CHAR);
    MPI_File_write_ordered_end(file, out, MPI_STATUS_IGNORE);
    rewind_shared(64);
    MPI_File_read_ordered_begin(file, in, bytes(), MPI_CHAR);
    MPI_File_read_ordered_end(file, in, MPI_STATUS_IGNORE);
    check("read_ordered_end");
    PMPI_Barrier(MPI_COMM_WORLD); /* before a rank writes where another one still reads */
}

static void non_blocking(void)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int done = 0;
    MPI_File_iwrite_at(file, place(), out, bytes(), MPI_CHAR, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_File_iread_at(file, place(), in, bytes(), MPI_CHAR, &requests[0]);
    while (!done) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        MPI_Test(&requests[0], &done, &statuses[0]);
    }
    check("iread_at");
    seek();
    MPI_File_iwrite(file, out, bytes(), MPI_CHAR, &requests[0]);
    MPI_Wait(&requests[0], &statuses[0]);
    seek();
    MPI_File_iread(file, in, bytes(), MPI_CHAR, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    check("iread");
    MPI_File_iwrite_shared(file, out, bytes(), MPI_CHAR, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    rewind_shared(0);
    MPI_File_iread_shared(file, in, bytes(), MPI_CHAR, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    /* two active operations of different sizes */
    MPI_File_iwrite_at(file, 256 + 32 * rank, out, 3, MPI_CHAR, &requests[0]);
    MPI_File_iwrite_at(file, 512 + 32 * rank, out, 5, MPI_CHAR, &requests[1]);
    MPI_Waitall(2, requests, statuses);
}

static void non_blocking_together(void)
{
    MPI_Request request;
    MPI_File_iwrite_at_all(file, place(), out, bytes(), MPI_CHAR, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_iread_at_all(file, place(), in, bytes(), MPI_CHAR, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check("iread_at_all");
    seek();
    MPI_File_iwrite_all(file, out, bytes(), MPI_CHAR, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    seek();
    MPI_File_iread_all(file, in, bytes(), MPI_CHAR, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check("iread_all");
}

static void about(void)
{
    MPI_Offset size, offset;
    MPI_Datatype etype, filetype;
    MPI_Group group;
    MPI_Info info;
    MPI_Aint extent;
    char representation[MPI_MAX_DATAREP_STRING];
    int mode, atomic;
    MPI_File_sync(file);
    /* Open MPI preallocates more than requested, and hangs if the file is smaller */
    MPI_File_set_size(file, 1000);
    MPI_File_preallocate(file, 1000);
    MPI_File_set_size(file, 1000);
    MPI_File_get_size(file, &size);
    MPI_File_get_amode(file, &mode);
    MPI_File_get_group(file, &group);
    MPI_Group_free(&group);
    MPI_File_get_info(file, &info);
    MPI_File_set_info(file, info);
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    MPI_File_get_position(file, &offset);
    MPI_File_get_position_shared(file, &offset);
    MPI_File_get_byte_offset(file, 0, &offset);
    MPI_File_get_type_extent(file, MPI_INT, &extent);
    MPI_File_set_atomicity(file, 1);
    MPI_File_get_atomicity(file, &atomic);
    MPI_File_set_atomicity(file, 0);
    /* fewer bytes than requested: 1000 exist */
    MPI_File_read_at(file, 990, in, 32, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_seek(file, -4, MPI_SEEK_END);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_get_view(file, &offset, &etype, &filetype, representation);
    MPI_File_read_at(file, 3, in, 2, MPI_INT, MPI_STATUS_IGNORE);
    if (size != 1000) failures++;
}

/* Many files, and one file repeatedly. */
static void often(void)
{
    char name[32];
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "own_%d_%d", rank, i % 4);
        MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
        MPI_File_write(file, out, i, MPI_CHAR, MPI_STATUS_IGNORE);
        MPI_File_close(&file);
    }
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "own_%d_%d", rank, i);
        MPI_File_delete(name, MPI_INFO_NULL);
    }
    snprintf(name, sizeof name, "own_%d_3", rank);
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_APPEND, MPI_INFO_NULL, &file);
    MPI_File_close(&file);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    memset(out, 'a' + rank, sizeof out);
    if (MPI_File_open(MPI_COMM_SELF, "no/such/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS) failures++;
    MPI_File_open(MPI_COMM_WORLD, argc > 1 ? argv[1] : ".//data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    alone();
    together();
    shared();
    split();
    non_blocking();
    non_blocking_together();
    about();
    MPI_File_close(&file);
    often();
    MPI_Finalize();
    return failures;
}
