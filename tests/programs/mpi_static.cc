// SPDX-License-Identifier: BSD-3-Clause
// A static object's destructor calls MPI_Barrier; with -DLIB that of a library calls MPI_Barrier and MPI_Finalize.
#include <mpi.h>

extern "C" void use_library();

#ifdef LIB
namespace {
struct Session {
    ~Session()
    {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Finalize();
    }
} session;
} // namespace
void use_library() {}
#else
namespace {
struct Last {
    ~Last() { MPI_Barrier(MPI_COMM_WORLD); }
} last;
} // namespace

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    use_library();
    MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}
#endif
