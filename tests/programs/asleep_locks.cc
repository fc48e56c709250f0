// SPDX-License-Identifier: BSD-3-Clause
// asleep_locks WAY: a thread sleeps while the first thread waits for it by a mutex, condition variable (cond), semaphore
// (sem) or barrier. asleep_locks alone: the first thread waits for a condition until a time.
#include <condition_variable>
#include <mutex>
#include <pthread.h>
#include <semaphore.h>
#include <string>
#include <thread>

using namespace std::chrono_literals;

static std::mutex mutex;
static std::condition_variable condition;
static pthread_barrier_t barrier;
static sem_t semaphore, begun;
static bool ready;

#define NO_TAIL_CALL __asm__ volatile("" ::: "memory")

__attribute__((noinline)) static void prepare()
{
    std::this_thread::sleep_for(300ms);
    NO_TAIL_CALL;
}

__attribute__((noinline)) static void wait_alone()
{
    std::unique_lock<std::mutex> lock(mutex);
    condition.wait_for(lock, 300ms, [] { return ready; });
}

__attribute__((noinline)) static void wait_for(const std::string &way)
{
    if (way == "mutex") std::lock_guard<std::mutex> lock(mutex);
    if (way == "sem") sem_wait(&semaphore);
    if (way == "barrier") pthread_barrier_wait(&barrier);
    if (way == "cond") {
        std::unique_lock<std::mutex> lock(mutex);
        condition.wait(lock, [] { return ready; });
    }
    NO_TAIL_CALL;
}

static void work(const std::string &way)
{
    std::unique_lock<std::mutex> lock(mutex);
    if (way != "mutex") lock.unlock();
    sem_post(&begun);
    prepare();
    sem_post(&semaphore);
    if (way == "barrier") pthread_barrier_wait(&barrier);
    if (way != "mutex") lock.lock();
    ready = true;
    condition.notify_one();
}

int main(int, char **words)
{
    const std::string way = words[1];
    sem_init(&semaphore, 0, 0);
    sem_init(&begun, 0, 0);
    pthread_barrier_init(&barrier, nullptr, 2);
    if (way == "alone") return wait_alone(), 0;
    std::thread other(work, way);
    sem_wait(&begun);
    wait_for(way);
    other.join();
}
