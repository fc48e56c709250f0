// SPDX-License-Identifier: BSD-3-Clause
/* Calls of MPI that do not return. N times each: MPI_Send to a rank that does not exist calls an error handler, which
   asks for the error's class and throws an exception; the same left by longjmp; MPI_Bcast from such a rank calls the
   handler, which throws; MPI_Comm_delete_attr calls a function that throws. After each, a function with a deep stack calls
   MPI_Comm_rank. In all MPI_Send 2 N, MPI_Bcast N, MPI_Error_class 3 N in these, MPI_Comm_delete_attr N, MPI_Comm_rank
   4 N, and 4 N calls are left. */
#include <csetjmp>
#include <cstdio>
#include <mpi.h>
#include <stdexcept>

static constexpr int N = 5;
static bool jumps = false;
static std::jmp_buf back;

static void fails(MPI_Comm *, int *code, ...)
{
    int kind = 0;
    MPI_Error_class(*code, &kind);
    if (jumps) std::longjmp(back, 1);
    throw std::runtime_error("error handler");
}

static int on_delete(MPI_Comm, int, void *, void *) { throw std::runtime_error("attribute"); }

__attribute__((noinline)) static void deeper()
{
    volatile char room[3000];
    int rank = 0;
    room[0] = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    room[1] = room[0];
}

__attribute__((noinline)) static void sends()
{
    int size = 0, value = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Send(&value, 1, MPI_INT, size + 7, 3, MPI_COMM_WORLD);
}

__attribute__((noinline)) static void sends_and_jumps()
{
    if (setjmp(back) == 0) sends();
}
int main(int argc, char **argv)
{
    int key = 0;
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    MPI_Comm_create_errhandler(fails, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    for (int i = 0; i < N; i++) {
        try {
            sends();
        } catch (const std::exception &) {
            deeper();
        }
    }
    for (int i = 0; i < N; i++) {
        int value = 0;
        try {
            MPI_Bcast(&value, 1, MPI_INT, 1000, MPI_COMM_WORLD);
        } catch (const std::exception &) {
            deeper();
        }
    }
    jumps = true;
    for (int i = 0; i < N; i++) {
        sends_and_jumps();
        deeper();
    }
    for (int i = 0; i < N; i++) {
        MPI_Comm copy;
        MPI_Comm_dup(MPI_COMM_SELF, &copy);
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, nullptr);
        MPI_Comm_set_attr(copy, key, &key);
        try {
            MPI_Comm_delete_attr(copy, key);
        } catch (const std::exception &) {
            deeper();
        }
    }
    std::puts("left");
    MPI_Finalize();
    return 0;
}
