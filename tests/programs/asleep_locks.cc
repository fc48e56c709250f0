// SPDX-License-Identifier: BSD-3-Clause
// asleep_locks WAY: a thread sleeps while the first thread waits for it by a mutex, condition variable (cond), semaphore
// (sem; shared: one that processes share), barrier, read-write lock (read, write), futex, or pipe. asleep_locks alone: the first thread waits for a condition until a time.
#include <atomic>
#include <condition_variable>
#include <linux/futex.h>
#include <mutex>
#include <pthread.h>
#include <semaphore.h>
#include <string>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <thread>
#include <unistd.h>

using namespace std::chrono_literals;

static std::mutex mutex;
static std::condition_variable condition;
static pthread_barrier_t barrier;
static sem_t semaphore, begun;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static std::atomic<int> word;
static int ends[2];
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
    char byte;
    const iovec part = {&byte, 1};
    if (way == "sem" || way == "shared") sem_wait(&semaphore);
    if (way == "read") pthread_rwlock_rdlock(&rwlock);
    if (way == "write") pthread_rwlock_wrlock(&rwlock);
    if (way == "futex") syscall(SYS_futex, &word, FUTEX_WAIT, 0, nullptr, nullptr, 0);
    if (way == "pipe" && read(ends[0], &byte, 1) != 1) abort();
    if (way == "parts" && readv(ends[0], &part, 1) != 1) abort();
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
    pthread_rwlock_wrlock(&rwlock);
    sem_post(&begun);
    prepare();
    sem_post(&semaphore);
    pthread_rwlock_unlock(&rwlock);
    word = 1;
    syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    if (write(ends[1], "", 1) != 1) abort();
    if (way == "barrier") pthread_barrier_wait(&barrier);
    if (way != "mutex") lock.lock();
    ready = true;
    condition.notify_one();
}

int main(int, char **words)
{
    const std::string way = words[1];
    sem_init(&semaphore, way == "shared", 0);
    sem_init(&begun, 0, 0);
    pthread_barrier_init(&barrier, nullptr, 2);
    if (pipe(ends)) abort();
    if (way == "alone") return wait_alone(), 0;
    std::thread other(work, way);
    sem_wait(&begun);
    wait_for(way);
    other.join();
}
