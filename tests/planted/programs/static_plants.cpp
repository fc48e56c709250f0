// SPDX-License-Identifier: BSD-3-Clause
// An MPI program whose functions have no linkage names, since they are static, and are inlined into main: static_plants
// PROPERTY. uneven_slopes: rank 1 sleeps 10 ms more in limit_slopes. late_put: so does rank 0, for which the others wait
// in the fence of put_halo. one_renders: rank 0 formats numbers in render.
#include "work.h"

#include <mpi.h>
#include <sstream>
#include <string>
#include <unistd.h>

static int rank, calls;
static double cells[64];
static MPI_Win window;

static inline void limit_slopes(int us)
{
    usleep(us);
    calls++;
}

static inline void advance(int slow)
{
    usleep(10000);
    calls++;
    if (rank == slow) limit_slopes(10000);
}

static inline void put_halo()
{
    MPI_Put(cells, 1, MPI_DOUBLE, 0, 1, 1, MPI_DOUBLE, window);
    MPI_Win_fence(0, window);
}

static inline std::string render(double ms)
{
    std::ostringstream text;
    const double end = plant_seconds(CLOCK_THREAD_CPUTIME_ID) + 1e-3 * ms;
    while (plant_seconds(CLOCK_THREAD_CPUTIME_ID) < end)
        for (int i = 0; i < 2000; i++) text << i * 0.37 << ' ';
    return text.str();
}

static inline void solve(double ms)
{
    const double end = plant_seconds(CLOCK_THREAD_CPUTIME_ID) + 1e-3 * ms;
    while (plant_seconds(CLOCK_THREAD_CPUTIME_ID) < end)
        for (volatile int i = 0; i < 20000; i++) continue;
}

int main(int argc, char **argv)
{
    const std::string property = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_create(cells, sizeof cells, sizeof *cells, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    for (int step = 0; step < 20; step++) {
        if (property == "late_put") {
            advance(0);
            put_halo();
            continue;
        }
        if (property == "uneven_slopes") advance(1);
        else {
            solve(20);
            if (rank == 0) cells[2] = render(12).size();
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_free(&window);
    MPI_Finalize();
}
