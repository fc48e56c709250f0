// SPDX-License-Identifier: BSD-3-Clause
// As lock_holder.c, with std::mutex and std::condition_variable: lock_holder mutex, condition or healthy.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <pthread.h>
#include <string>
#include <thread>

#define KEEP __attribute__((noinline))

namespace
{
const int rounds = 5;
std::mutex lock, other;
std::condition_variable condition;
std::atomic<int> held, used;
int items;
std::string what = "mutex";

void work(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

void until(const std::atomic<int> &round, int n)
{
    while (round < n) work(1);
}

KEEP void keep()
{
    std::lock_guard<std::mutex> hold(lock); // KEEPS mutex
    held++;
    work(40);
}

KEEP void use(std::mutex &mine)
{
    std::unique_lock<std::mutex> hold(mine); // USES mutex
}

KEEP void put()
{
    std::lock_guard<std::mutex> hold(lock);
    items++;
    condition.notify_one(); // KEEPS condition
}

KEEP void take()
{
    std::unique_lock<std::mutex> hold(lock);
    while (!items) condition.wait(hold); // USES condition
    items--;
}

void keeper()
{
    pthread_setname_np(pthread_self(), "keeper");
    for (int n = 0; n < rounds; n++) {
        until(used, n);
        if (what == "condition") work(40);
        if (what != "mutex") put();
        if (what != "condition") keep();
    }
}

void user()
{
    pthread_setname_np(pthread_self(), "user");
    for (int n = 0; n < rounds; n++) {
        if (what != "condition") {
            until(held, n + 1);
            use(what == "healthy" ? other : lock);
        }
        if (what == "healthy") work(50);
        if (what != "mutex") take();
        if (what == "condition") work(5); // a thread that only waits loses no time
        used++;
    }
}
} // namespace

int main(int argc, char **argv)
{
    if (argc > 1) what = argv[1];
    std::thread one(keeper), two(user);
    one.join();
    two.join();
}
