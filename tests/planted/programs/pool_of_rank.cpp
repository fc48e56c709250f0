// SPDX-License-Identifier: BSD-3-Clause
// An MPI program whose ranks have a pool of three threads each: pool_of_rank PROPERTY. late_job: one job of rank 0 takes
// 20 ms longer in convolve.
#include "work.h"

#include <condition_variable>
#include <functional>
#include <mpi.h>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <vector>

class Pool
{
  public:
    explicit Pool(int threads)
    {
        for (int i = 0; i < threads; i++) workers.emplace_back([this] { serve(); });
    }

    ~Pool()
    {
        submit(nullptr);
        for (auto &worker : workers) worker.join();
    }

    void submit(std::function<void()> job)
    {
        std::lock_guard<std::mutex> lock(mutex);
        jobs.push(std::move(job));
        pending++;
        ready.notify_all();
    }

    void wait()
    {
        std::unique_lock<std::mutex> lock(mutex);
        finished.wait(lock, [this] { return pending == 0; });
    }

  private:
    void serve()
    {
        for (;;) {
            std::unique_lock<std::mutex> lock(mutex);
            ready.wait(lock, [this] { return !jobs.empty(); });
            if (!jobs.front()) return;
            auto job = std::move(jobs.front());
            jobs.pop();
            lock.unlock();
            job();
            lock.lock();
            if (--pending == 0) finished.notify_all();
        }
    }

    std::vector<std::thread> workers;
    std::queue<std::function<void()>> jobs;
    std::mutex mutex;
    std::condition_variable ready, finished;
    int pending = 0;
};

WORKER(convolve)

int main(int argc, char **argv)
{
    int rank, level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    bool is_late = std::string(argv[1]) == "late_job" && rank == 0;
    {
        Pool pool(3);
        for (int step = 0; step < 20; step++) {
            double sum = 1, total;
            for (int job = 0; job < 3; job++) pool.submit([=] { convolve(is_late && job == 0 ? 30 : 10); });
            pool.wait();
            MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
}
