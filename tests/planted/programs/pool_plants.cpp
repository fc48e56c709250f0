/* SPDX-License-Identifier: BSD-3-Clause */
/* C++ programs of threads with one property each: pool_plants PROPERTY [STEPS [THREADS [MS]]]. */
#include "work.h"

#include <condition_variable>
#include <cstring>
#include <functional>
#include <future>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

WORKER(compute)
WORKER(chemistry)
WORKER(produce)

static const int BASE = 10;
static int steps = 20, count = 2;
static double ms = 10;

/* Runs tasks; its destructor waits for the end of all. */
class Pool
{
    std::mutex mutex;
    std::condition_variable some;
    std::queue<std::function<void()>> tasks;
    std::vector<std::thread> threads;
    bool ends = false;

    void serve()
    {
        for (;;) {
            std::unique_lock<std::mutex> held(mutex);
            some.wait(held, [this] { return ends || !tasks.empty(); });
            if (tasks.empty()) return;
            std::function<void()> task = std::move(tasks.front());
            tasks.pop();
            held.unlock();
            task();
        }
    }

  public:
    explicit Pool(int size)
    {
        for (int i = 0; i < size; i++) threads.emplace_back(&Pool::serve, this);
    }
    void add(std::function<void()> task)
    {
        std::lock_guard<std::mutex> held(mutex);
        tasks.push(std::move(task));
        some.notify_one();
    }
    void also_run(std::function<void()> function) { threads.emplace_back(std::move(function)); }
    ~Pool()
    {
        {
            std::lock_guard<std::mutex> held(mutex);
            ends = true;
        }
        some.notify_all();
        for (std::thread &each : threads) each.join();
    }
};

static std::mutex results;

static void starved_pool() /* one task at a time for all threads */
{
    Pool pool(count);
    for (int i = 0; i < steps; i++) {
        produce(BASE + ms);
        pool.add([] { compute(BASE); });
    }
}

static void one_result() /* each task needs the lock of the results for long */
{
    Pool pool(count);
    for (int i = 0; i < steps * count; i++)
        pool.add([] {
            compute(1);
            std::lock_guard<std::mutex> held(results);
            chemistry(ms);
        });
}

static void long_task() /* the last task is long: all others end early */
{
    Pool pool(count);
    for (int i = 0; i < steps * count; i++) pool.add([] { compute(BASE); });
    pool.add([] { chemistry(BASE * ms); });
}

static void healthy_pool()
{
    Pool pool(count);
    for (int i = 0; i < steps * count; i++) pool.add([] { compute(BASE); });
}

static void healthy_producer() /* a thread makes all tasks at once, and ends */
{
    std::promise<void> made;
    Pool pool(count);
    pool.also_run([&] {
        for (int i = 0; i < steps * count; i++) pool.add([] { compute(BASE); });
        made.set_value();
    });
    made.get_future().wait();
}

int main(int argc, char **argv)
{
    if (argc > 2) steps = atoi(argv[2]);
    if (argc > 3) count = atoi(argv[3]);
    if (argc > 4) ms = atof(argv[4]);
    if (!strcmp(argv[1], "starved_pool")) starved_pool();
    else if (!strcmp(argv[1], "one_result")) one_result();
    else if (!strcmp(argv[1], "long_task")) long_task();
    else if (!strcmp(argv[1], "healthy_producer")) healthy_producer();
    else healthy_pool();
}
