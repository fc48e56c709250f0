// SPDX-License-Identifier: BSD-3-Clause
/* The example of the recipe "User-Level Timers": each thread follows a path of the Lorenz attractor, from starts that
   differ by 1e-14. The timers are off during the first run. */
#include <iostream>

#include "perf.hh"

static double run(int N)
{
    Performance::Timed timer("integrate", 0, 14 * N);
    double x = 1.0, y = 0.0, z = 0.0;
    const double dt = 1e-4, beta = 8.0 / 3.0, rho = 28.0, sigma = 10.0;
    y += omp_get_thread_num() * 1e-14;
    for (int i = 0; i < N; i++) {
        const double dx = sigma * (y - x), dy = x * (rho - z) - y, dz = x * y - beta * z;
        x += dx * dt;
        y += dy * dt;
        z += dz * dt;
    }
    return x;
}

int main()
{
    double sum = 0;
    for (int turn = 0; turn < 4; turn++) {
        if (turn == 1) Performance::Timers::on();
#pragma omp parallel reduction(+ : sum) num_threads(2)
        sum += run(turn == 3 ? 20000 : 10000);
    }
    {
        Performance::Timed timer("read \"in\"\t", 4096, 0);
    }
    Performance::Timers::off();
    {
        Performance::Timed timer("after", 1, 1);
    }
    Performance::Timers::show(std::cout);
    std::cerr << sum << '\n';
    return 0;
}
