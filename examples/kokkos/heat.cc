/* SPDX-License-Identifier: BSD-3-Clause */
/* Heat on a line, with Kokkos: labelled kernels in a region for each part of a step. */
#include <Kokkos_Core.hpp>
#include <cstdio>

int main(int argc, char **argv)
{
    Kokkos::initialize(argc, argv);
    {
        const int n = 1 << 20, steps = 50;
        Kokkos::View<double *> now("now", n), next("next", n);
        Kokkos::parallel_for("start", n, KOKKOS_LAMBDA(int i) { now(i) = i == n / 2; });
        double heat = 0;
        for (int step = 0; step < steps; step++) {
            Kokkos::Profiling::pushRegion("step");
            Kokkos::parallel_for(
                "smooth", Kokkos::RangePolicy<>(1, n - 1),
                KOKKOS_LAMBDA(int i) { next(i) = now(i) + 0.25 * (now(i - 1) - 2 * now(i) + now(i + 1)); });
            Kokkos::deep_copy(now, next);
            Kokkos::parallel_reduce("sum", n, KOKKOS_LAMBDA(int i, double &part) { part += now(i); }, heat);
            Kokkos::Profiling::popRegion();
        }
        std::printf("heat %.6f\n", heat);
    }
    Kokkos::finalize();
    return 0;
}
