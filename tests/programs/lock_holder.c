/* SPDX-License-Identifier: BSD-3-Clause */
/* lock_holder WHAT [shared]: in each of 5 rounds a thread "keeper" has a lock, or does not signal a condition or post a
   semaphore, for 40 ms, and a thread "user" waits meanwhile. shared: by a lock that processes may share. WHAT: mutex,
   rwlock, spin, condition, token (a semaphore); lookup: the keeper has two read-write locks for reading, as a third thread
   has for a shorter time, and the user wants to write; entry: the user wants to read, the keeper writes; or
   healthy: the user needs another lock, and the signal comes before the user waits. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define ROUNDS 5
#define HELD 40 /* ms */
#define KEEP __attribute__((noinline))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER, table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t token;
static int items, held, used; /* held, used: rounds */
static int signals; /* 1: a condition or semaphore */
static const char *what;

static void work(int ms)
{
    struct timespec t = {0, ms * 1000000L};
    nanosleep(&t, NULL);
}

static void until(const int *round, int n)
{
    while (__atomic_load_n(round, __ATOMIC_ACQUIRE) < n) work(1);
}

static void reached(int *round) { __atomic_fetch_add(round, 1, __ATOMIC_RELEASE); }

/* The lock of another table is got last and released first. */
KEEP static void look_up(int ms)
{
    pthread_rwlock_rdlock(&table); /* KEEPS lookup */
    pthread_rwlock_rdlock(&rwlock);
    reached(&held);
    work(5);
    pthread_rwlock_unlock(&rwlock);
    work(ms - 5);
    pthread_rwlock_unlock(&table);
}

KEEP static void change(void)
{
    pthread_rwlock_wrlock(&table); /* USES lookup */
    pthread_rwlock_unlock(&table);
}

KEEP static void keep(void)
{
    if (*what == 'r' || *what == 'e') pthread_rwlock_wrlock(&rwlock); /* KEEPS rwlock */ /* KEEPS entry */
    else if (*what == 's') pthread_spin_lock(&spin);                  /* KEEPS spin */
    else pthread_mutex_lock(&lock);                                   /* KEEPS mutex */
    reached(&held);
    work(HELD);
    if (*what == 'r' || *what == 'e') pthread_rwlock_unlock(&rwlock);
    else if (*what == 's') pthread_spin_unlock(&spin);
    else pthread_mutex_unlock(&lock);
}

KEEP static void use(void)
{
    pthread_mutex_t *mine = *what == 'h' ? &other : &lock;
    if (*what == 'r') pthread_rwlock_wrlock(&rwlock);      /* USES rwlock */
    else if (*what == 'e') pthread_rwlock_rdlock(&rwlock); /* USES entry */
    else if (*what == 's') pthread_spin_lock(&spin);       /* USES spin */
    else pthread_mutex_lock(mine);                         /* USES mutex */
    if (*what == 'r' || *what == 'e') pthread_rwlock_unlock(&rwlock);
    else if (*what == 's') pthread_spin_unlock(&spin);
    else pthread_mutex_unlock(mine);
}

KEEP static void put(void)
{
    if (*what == 't') {
        sem_post(&token); /* KEEPS token */
        items++; /* so that the call is not the last one, which would be a jump */
        return;
    }
    pthread_mutex_lock(&lock);
    items++;
    pthread_cond_signal(&condition); /* KEEPS condition */
    pthread_mutex_unlock(&lock);
}

KEEP static void take(void)
{
    if (*what == 't') {
        sem_wait(&token); /* USES token */
        items--;
        return;
    }
    pthread_mutex_lock(&lock);
    while (!items) pthread_cond_wait(&condition, &lock); /* USES condition */
    items--;
    pthread_mutex_unlock(&lock);
}

static void *keeper(void *unused)
{
    for (int n = 0; n < ROUNDS; n++) {
        until(&used, n);
        if (signals) work(HELD);
        if (signals || *what == 'h') put();
        if (*what == 'l') look_up(HELD);
        else if (!signals) keep();
    }
    return unused;
}

static void *user(void *unused)
{
    for (int n = 0; n < ROUNDS; n++) {
        if (!signals) until(&held, *what == 'l' ? 2 * n + 2 : n + 1);
        if (*what == 'l') change();
        else if (!signals) use();
        if (*what == 'h') work(HELD + 10); /* so that take() need not wait for the lock */
        if (signals || *what == 'h') take();
        if (signals) work(5); /* a thread that only waits loses no time */
        reached(&used);
    }
    return unused;
}

static void *reader(void *unused)
{
    for (int n = 0; n < ROUNDS; n++) {
        until(&used, n);
        look_up(HELD / 4);
    }
    return unused;
}

/* pthread_KIND_init of a lock that processes may share. */
#define SHARE(kind, lock)                                                                                              \
    {                                                                                                                  \
        pthread_##kind##attr_t shared;                                                                                 \
        pthread_##kind##attr_init(&shared);                                                                            \
        pthread_##kind##attr_setpshared(&shared, PTHREAD_PROCESS_SHARED);                                              \
        pthread_##kind##_init(lock, &shared);                                                                          \
    }

int main(int argc, char **argv)
{
    pthread_t threads[3];
    what = argc > 1 ? argv[1] : "mutex";
    signals = *what == 'c' || *what == 't';
    if (argc > 2) {
        SHARE(mutex, &lock)
        SHARE(cond, &condition)
        SHARE(rwlock, &rwlock)
    }
    sem_init(&token, argc > 2, 0);
    pthread_spin_init(&spin, 0);
    pthread_create(&threads[0], NULL, keeper, NULL);
    pthread_setname_np(threads[0], "keeper");
    pthread_create(&threads[1], NULL, user, NULL);
    pthread_setname_np(threads[1], "user");
    if (*what == 'l') pthread_create(&threads[2], NULL, reader, NULL);
    for (int n = 0; n < (*what == 'l' ? 3 : 2); n++) pthread_join(threads[n], NULL);
    return 0;
}
