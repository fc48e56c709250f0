// SPDX-License-Identifier: BSD-3-Clause
// cppthread: two threads at the same time; each calls work five times and waits for the other.
#include <condition_variable>
#include <mutex>
#include <thread>
#include "keep.h"

static std::mutex mutex;
static std::condition_variable changed;
static int arrived;
static volatile long sink;

KEEP void work(long i) { sink = i; }

static void body()
{
    for (int i = 0; i < 5; i++) work(i);
    std::unique_lock<std::mutex> lock(mutex);
    arrived++;
    changed.notify_all();
    changed.wait(lock, [] { return arrived == 2; });
}

int main()
{
    std::thread a(body), b(body);
    a.join();
    b.join();
    return 0;
}
