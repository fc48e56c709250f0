// SPDX-License-Identifier: BSD-3-Clause
// asleep_locks WAY: a thread sleeps while the first thread waits for it by a mutex, condition variable (cond), semaphore
// (sem), barrier, read-write lock (read, write), futex, or pipe. shared_WAY: by one that processes may share.
// asleep_locks alone: the first thread waits for a condition until a time.
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
static pthread_rwlock_t rwlock;
static std::atomic<int> word;
static int ends[2];
static bool ready, shared;

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
    if (way == "sem") sem_wait(&semaphore);
    if (way == "read") pthread_rwlock_rdlock(&rwlock);
    if (way == "write") pthread_rwlock_wrlock(&rwlock);
    if (way == "futex") syscall(SYS_futex, &word, shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
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
    syscall(SYS_futex, &word, shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    if (write(ends[1], "", 1) != 1) abort();
    if (way == "barrier") pthread_barrier_wait(&barrier);
    if (way != "mutex") lock.lock();
    ready = true;
    condition.notify_one();
}

/* pthread_KIND_init for `shared`. */
#define INIT(kind, object, ...)                                                                                        \
    {                                                                                                                  \
        pthread_##kind##attr_t how;                                                                                    \
        pthread_##kind##attr_init(&how);                                                                               \
        pthread_##kind##attr_setpshared(&how, shared);                                                                 \
        pthread_##kind##_init(object, &how, ##__VA_ARGS__);                                                            \
    }

int main(int, char **words)
{
    std::string way = words[1];
    shared = way.rfind("shared_", 0) == 0;
    if (shared) way.erase(0, 7);
    INIT(mutex, mutex.native_handle())
    INIT(cond, condition.native_handle())
    INIT(rwlock, &rwlock)
    INIT(barrier, &barrier, 2)
    sem_init(&semaphore, shared, 0);
    sem_init(&begun, 0, 0);
    if (pipe(ends)) abort();
    if (way == "alone") return wait_alone(), 0;
    std::thread other(work, way);
    sem_wait(&begun);
    wait_for(way);
    other.join();
}
