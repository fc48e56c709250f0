/* SPDX-License-Identifier: BSD-3-Clause */
/* Mutexes, spin locks, condition variables, barriers, read-write locks and semaphores, recorded with VT_PTHREAD=locks.
   Else a call costs one branch, or tells how long the thread slept, if it had to wait. glibc does not call these
   functions by these names. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include "lock_sites.h"
#include "../core/process.h"

#define LOCKS (1u << 18)
#define NAMELESS UINT32_MAX /* the lock is on the heap or a stack */

static int wanted; /* set by the constructor; earlier locks of the program are not recorded */

/* ---- The holder of a lock: its number, and the number of acquisitions ---- */

/* The holder of the lock writes the fields of the first row, at and site. A recursive mutex is held until it is free. */
struct lock {
    _Atomic uint64_t address;
    uint32_t owner, depth, count; /* owner: location number of the holder + 1 */
    uint32_t site; /* stack of the call that got the lock; 0: only its return address is known */
    uintptr_t at; /* this return address */
    uint32_t asked; /* a thread has waited: the next call notes its stack, too */
    _Atomic uint32_t waiting; /* threads that wait for a condition, or for a lock that another thread has */
    uint32_t name; /* text with the name of the variable; 0: not asked yet; NAMELESS */
    _Atomic uint32_t readers; /* threads that have a read-write lock for reading */
};

static struct lock *_Atomic locks;

static struct lock *lock_of(const volatile void *address)
{
    struct lock *all = atomic_load(&locks);
    if (!all) all = vt_pages_once((void **)&locks, LOCKS * sizeof *all);
    struct lock *entry = all ? vt_table_entry(all, LOCKS, sizeof *all, (uint64_t)(uintptr_t)address) : NULL;
    if (entry || !all) return entry;
    vt_warn_left_out("threads", "more than about %u locks: acquiring further locks is not recorded", LOCKS / 2);
    return NULL;
}

/* For signal handlers, which must not warn. NULL: no thread has got or awaited the lock. */
static struct lock *known_lock(const volatile void *address)
{
    struct lock *all = atomic_load(&locks);
    return all ? vt_table_find(all, LOCKS, sizeof *all, (uint64_t)(uintptr_t)address) : NULL;
}

static uint32_t number_of(const struct lock *l) { return (uint32_t)(l - atomic_load(&locks) + 1); }
static uint64_t word_of(const struct lock *l) { return (uint64_t)number_of(l) | (uint64_t)l->count << 32; }

static uint32_t me(void) { return vt_own_location ? vt_own_location->number + 1 : 0; }

/* A call that may get a lock. */
struct attempt {
    struct lock *lock; /* NULL: not recorded */
    uintptr_t at; /* return address of the call */
    uint32_t site, count; /* stack of the call, 0: not known; acquisitions of the lock until the call */
    enum { GETS_IT, WAITS_FOR_WRITER, WAITS_FOR_READERS } waits; /* for others that have the lock */
};

/* Called without the lock, since the search takes the loader's lock. Two threads may define the name twice. */
static void find_name(struct lock *l)
{
    if (VT_READ(l->name)) return;
    const uint32_t name = vt_data_site((uintptr_t)atomic_load(&l->address));
    VT_SET(l->name, name ? name : NAMELESS);
}

/* A call while other threads have the lock. It unwinds before it waits, so that nobody waits for the unwinding. */
static __attribute__((noinline)) struct attempt attempt_late(struct attempt a)
{
    const uint32_t owner = VT_READ(a.lock->owner);
    if (owner == me()) return a;
    if (owner) a.waits = WAITS_FOR_WRITER;
    else if (atomic_load_explicit(&a.lock->readers, memory_order_relaxed)) a.waits = WAITS_FOR_READERS;
    if (a.waits) atomic_fetch_add(&a.lock->waiting, 1);
    else VT_SET(a.lock->asked, 0);
    a.site = vt_lock_site(a.at);
    find_name(a.lock);
    return a;
}

static inline __attribute__((always_inline)) void attempt_ends(const struct attempt *a)
{
    if (VT_UNLIKELY(a->waits)) atomic_fetch_sub(&a->lock->waiting, 1);
}

/* address NULL: threads of other processes may have the lock, so nobody knows who makes whom wait. */
static inline __attribute__((always_inline)) struct attempt attempt(const volatile void *address, uintptr_t at)
{
    struct lock *l = address && me() ? lock_of(address) : NULL;
    struct attempt a = {l, at, 0, 0, 0};
    if (!l) return a;
    a.count = VT_READ(l->count);
    const uint32_t readers = atomic_load_explicit(&l->readers, memory_order_relaxed);
    if (VT_UNLIKELY(VT_READ(l->owner) | VT_READ(l->asked) | readers)) return attempt_late(a);
    return a;
}

/* Stores the attributes of a wait: the stacks of the calls of this thread and of the holder, 0: not known, and the lock's
   name. Returns the number of words, 6 at most. */
static unsigned wait_attributes(uint64_t *words, const struct lock *l, uint32_t own, uint32_t holder)
{
    const struct vt_lock_attributes *attributes = vt_lock_attributes();
    const uint32_t name = VT_READ(l->name);
    unsigned n = 0;
    if (attributes && attributes->site && own) {
        words[n++] = VT_HEAD(VT_K_ATTRIBUTE, 1, attributes->site);
        words[n++] = own;
    }
    if (attributes && attributes->holder && holder) {
        words[n++] = VT_HEAD(VT_K_ATTRIBUTE, 1, attributes->holder);
        words[n++] = holder;
    }
    if (attributes && attributes->name && name && name != NAMELESS) {
        words[n++] = VT_HEAD(VT_K_ATTRIBUTE, 1, attributes->name);
        words[n++] = name;
    }
    return n;
}

/* Writes that this thread waited, with the calls of this thread and of the holder before. */
static __attribute__((noinline)) void acquired_late(struct attempt a, uint32_t region)
{
    struct lock *l = a.lock;
    const uint32_t own = a.site ? a.site : vt_lock_site_of(a.at);
    const int was_read = a.waits == WAITS_FOR_READERS && l->count == a.count + 1; /* read_unlock tells it */
    const uint32_t holder = was_read || !l->at ? 0 : l->site ? l->site : vt_lock_site_of(l->at);
    uint64_t words[8];
    VT_SET(l->asked, 1);
    unsigned n = wait_attributes(words, l, own, holder);
    words[n++] = VT_HEAD(VT_K_ACQUIRE_LOCK, 1, VT_PARADIGM_PTHREAD);
    words[n++] = word_of(l);
    vt_write(words, n);
    vt_leave(region);
}

/* Writes LEAVE, too. */
static inline __attribute__((always_inline)) void acquired(struct attempt a, uint32_t region, uint32_t depth)
{
    struct lock *l = a.lock;
    const uint32_t own = me();
    if (!l || l->owner == own) {
        if (l) l->depth++;
        vt_leave(region);
        return;
    }
    const int waited = a.waits || l->count != a.count;
    VT_SET(l->owner, own);
    l->depth = depth;
    VT_SET(l->count, l->count + 1);
    if (VT_UNLIKELY(waited)) acquired_late(a, region);
    else vt_write_3(VT_HEAD(VT_K_ACQUIRE_LOCK, 1, VT_PARADIGM_PTHREAD), word_of(l), VT_HEAD(VT_K_LEAVE, 0, region));
    VT_SET(l->site, a.site);
    VT_SET(l->at, a.at);
}

/* Writes the ENTER of the call that releases the lock. all: releases the lock as often as it was acquired. Returns this
   number. */
static uint32_t released(const volatile void *address, uint32_t region, int all)
{
    struct lock *l = me() ? lock_of(address) : NULL;
    uint32_t depth = l && l->owner == me() ? l->depth : 0;
    if (depth != 1 && !(depth && all)) {
        if (depth) l->depth--;
        vt_enter(region);
        return depth;
    }
    l->depth = 0;
    VT_SET(l->owner, 0);
    vt_write_3(VT_HEAD(VT_K_ENTER, 0, region), VT_HEAD(VT_K_RELEASE_LOCK, 1, VT_PARADIGM_PTHREAD), word_of(l));
    return depth;
}

/* ---- Readers of read-write locks. OTF2's locks have one holder, so only a release for which a writer waits is
   recorded, with the call that got the lock ---- */

#define READS 8u /* most locks that a thread has for reading at one time; further ones are not known */

static _Thread_local struct {
    struct lock *lock; /* NULL: free */
    uintptr_t at; /* return address of the call that got the lock */
    uint32_t site, call; /* its stack, 0: not known; its number */
} reads[READS] __attribute__((tls_model("initial-exec")));
static _Thread_local uint32_t read_calls __attribute__((tls_model("initial-exec"))); /* recorded calls so far */

/* After a call that has got a lock for reading, or that has failed. */
static void read_lock(const volatile void *address, uintptr_t at, int has_lock)
{
    const uint32_t call = ++read_calls;
    struct lock *l = has_lock && me() ? lock_of(address) : NULL;
    uint32_t site = 0;
    for (unsigned i = 0; l && i < READS; i++) {
        if (reads[i].lock) continue;
        atomic_fetch_add(&l->readers, 1);
        if (VT_UNLIKELY(VT_READ(l->asked))) {
            if (!atomic_load(&l->waiting)) VT_SET(l->asked, 0);
            site = vt_lock_site(at);
        }
        reads[i].lock = l;
        reads[i].at = at;
        reads[i].site = site;
        reads[i].call = call;
        return;
    }
}

/* Writes the attributes of the next ENTER, of a call that waits for a writer. */
static __attribute__((noinline)) void awaits_writer(const volatile void *address, uintptr_t at)
{
    struct lock *l = me() ? lock_of(address) : NULL;
    if (!l || !VT_READ(l->owner)) return;
    const uint32_t own = vt_lock_site(at), site = VT_READ(l->site);
    const uintptr_t holder = VT_READ(l->at);
    uint64_t words[6];
    find_name(l);
    const unsigned n = wait_attributes(words, l, own, site || !holder ? site : vt_lock_site_of(holder));
    if (n) vt_write(words, n);
}

/* Writes the attributes of the next ENTER, if a writer waits. Returns 0 if this thread does not have the lock for
   reading. */
static int read_unlock(const volatile void *address)
{
    struct lock *l = me() ? lock_of(address) : NULL;
    for (unsigned i = READS; l && i-- > 0;) {
        if (reads[i].lock != l) continue;
        reads[i].lock = NULL;
        atomic_fetch_sub(&l->readers, 1);
        const struct vt_lock_attributes *attributes = atomic_load(&l->waiting) ? vt_lock_attributes() : NULL;
        if (!attributes || !attributes->read || !attributes->calls || !attributes->site) return 1;
        const uint32_t site = reads[i].site ? reads[i].site : vt_lock_site_of(reads[i].at);
        vt_write_2(VT_HEAD(VT_K_ATTRIBUTE, 1, attributes->read), number_of(l));
        vt_write_2(VT_HEAD(VT_K_ATTRIBUTE, 1, attributes->calls), read_calls - reads[i].call);
        if (site) vt_write_2(VT_HEAD(VT_K_ATTRIBUTE, 1, attributes->site), site);
        return 1;
    }
    return 0;
}

/* ---- Conditions and semaphores: which calls of a signal, or sem_post, end which waits ---- */

/* Writes the attributes of the next ENTER. */
static __attribute__((noinline)) void of_condition(const struct lock *condition, uint32_t site)
{
    const struct vt_lock_attributes *attributes = vt_lock_attributes();
    if (!attributes || !attributes->condition) return;
    vt_write_2(VT_HEAD(VT_K_ATTRIBUTE, 1, attributes->condition), number_of(condition));
    if (attributes->site && site) vt_write_2(VT_HEAD(VT_K_ATTRIBUTE, 1, attributes->site), site);
}

/* siglongjmp and cancellation leave a wait. */
static _Thread_local struct lock *awaited __attribute__((tls_model("initial-exec")));

/* Ends a wait in a thread that is cancelled, too. A signal handler that waits meanwhile ends the wait. */
static void wait_ends(void)
{
    struct lock *condition = __atomic_exchange_n(&awaited, NULL, __ATOMIC_RELAXED);
    if (condition) atomic_fetch_sub(&condition->waiting, 1);
}

static void thread_begins(struct vt_location *l) { (void)l; }

static void thread_ends(struct vt_location *l)
{
    (void)l;
    wait_ends();
}

static struct vt_thread_follower follower = {.begins = thread_begins, .ends = thread_ends};

/* A thread begins to wait for a condition or semaphore, without the mutex. Returns the condition. a: the call, which will
   get the mutex again. address NULL: other processes may signal; mutex NULL: there is none. */
static struct lock *waits(const volatile void *address, const volatile void *mutex, struct attempt *a)
{
    struct lock *condition = address ? lock_of(address) : NULL;
    a->lock = mutex && me() ? lock_of(mutex) : NULL;
    a->site = vt_lock_site(a->at);
    a->count = UINT32_MAX; /* others have the mutex meanwhile */
    if (!condition) return NULL;
    wait_ends();
    atomic_fetch_add(&condition->waiting, 1);
    VT_SET(awaited, condition);
    of_condition(condition, a->site);
    return condition;
}

static void signals(const volatile void *address, uintptr_t at, uint32_t (*site_of)(uintptr_t caller))
{
    struct lock *condition = known_lock(address);
    if (condition && atomic_load(&condition->waiting)) of_condition(condition, site_of(at));
}

/* ---- The functions ---- */

static void *find(struct vt_call *c)
{
    static _Thread_local int finding __attribute__((tls_model("initial-exec")));
    if (finding) return NULL; /* the allocator that dlsym calls uses locks */
    finding = 1;
    void *next = vt_call_find(c);
    finding = 0;
    return next;
}

/* The byte of glibc's condition variables and semaphores where an int tells whether processes share them: each version of
   glibc has another one. 0: not known. */
static size_t flag_of_condition, flag_of_semaphore;

/* Return VT_WAITS_SHARED if other processes may use the lock, as bits of an int in glibc's locks tell. All robust mutexes
   have this bit. */
static inline unsigned is_shared(const void *lock, size_t at, int bits)
{
    int word;
    if (!at) return 0;
    memcpy(&word, (const char *)lock + at, sizeof word);
    return word & bits ? VT_WAITS_SHARED : 0;
}
#define OF_MUTEX(lock) is_shared(lock, offsetof(pthread_mutex_t, __data.__kind), 128)
#define OF_SEMAPHORE(lock) is_shared(lock, flag_of_semaphore, -1)
#define OF_CONDITION(lock) is_shared(lock, flag_of_condition, 1)
#if __GLIBC_PREREQ(2, 25)
#define OF_RWLOCK(lock) is_shared(lock, offsetof(pthread_rwlock_t, __data.__shared), -1)
#define OF_BARRIER(lock) is_shared(lock, 12, -1)
#else
#define OF_RWLOCK(lock) 0u
#define OF_BARRIER(lock) 0u
#endif

/* Return 0 if a call does not sleep, else flags of enum vt_sleep. */
#define SLEEPS (VT_SLEEPS | VT_HOLDS_LOCK)
static inline unsigned is_held(const void *mutex)
{
    return ((const volatile pthread_mutex_t *)mutex)->__data.__lock ? SLEEPS | OF_MUTEX(mutex) : 0;
}

static inline unsigned is_empty(sem_t *semaphore)
{
    int value = 0;
    return sem_getvalue(semaphore, &value) || value > 0 ? 0 : SLEEPS | OF_SEMAPHORE(semaphore);
}

/* is_read: the call would share the lock with readers. glibc keeps three bits for writers in __readers:
   the first one may be set without a writer. */
static inline unsigned is_taken(const void *lock, int is_read)
{
#if __GLIBC_PREREQ(2, 25)
    const volatile pthread_rwlock_t *l = lock;
    const unsigned readers = l->__data.__readers;
    if (is_read ? readers & 6 : (readers & ~1u) | (unsigned)l->__data.__cur_writer) return SLEEPS | OF_RWLOCK(lock);
#endif
    (void)lock, (void)is_read;
    return 0;
}

/* Begins a wrapper. The body for recorded calls follows; it uses region and next, the next definition. sleeps: flags of
   enum vt_sleep, or 0; told if locks are not recorded. */
#define WRAP(function, role, parameters, arguments, sleeps)                                                            \
    static struct vt_call call_##function = {#function, VT_PARADIGM_PTHREAD, role, 0, NULL};                           \
    static int first_##function parameters;                                                                            \
    static int(*next_##function) parameters = first_##function;                                                        \
    static int first_##function parameters                                                                             \
    {                                                                                                                  \
        int(*next) parameters;                                                                                         \
        *(void **)&next = find(&call_##function);                                                                      \
        if (!next) return 0;                                                                                           \
        next_##function = next;                                                                                        \
        return next arguments;                                                                                         \
    }                                                                                                                  \
    static __attribute__((noinline)) int record_##function parameters;                                                 \
    VT_CALL_EXPORT int function parameters                                                                             \
    {                                                                                                                  \
        if (VT_UNLIKELY(wanted)) return record_##function arguments;                                                   \
        const unsigned how = sleeps;                                                                                   \
        if (!how || !vt_process.set.processor_wait) return next_##function arguments;                                  \
        VT_SLEEPING_CALL(int, r, next_##function, next_##function arguments, how)                                      \
        return r;                                                                                                      \
    }                                                                                                                  \
    static int record_##function parameters

/* Where the program calls the function. */
#define CALLER ((uintptr_t)__builtin_return_address(0))

#define REGION(function) vt_shares_memory() ? 0 : vt_call_region(&call_##function)

/* begin, end: the statements before and after the call. */
#define RECORD(function, role, parameters, arguments, sleeps, begin, end)                                              \
    WRAP(function, role, parameters, arguments, sleeps)                                                                \
    {                                                                                                                  \
        uint32_t region = REGION(function);                                                                            \
        if (!region) return next_##function arguments;                                                                 \
        begin;                                                                                                         \
        int r = next_##function arguments;                                                                             \
        end;                                                                                                           \
        return r;                                                                                                      \
    }

/* shared: 0 if only threads of this process use the lock. */
#define LOCKS_IT(function, parameters, arguments, sleeps, shared)                                                      \
    RECORD(function, VT_ROLE_FUNCTION, parameters, arguments, sleeps, vt_enter_call(region);                           \
           const struct attempt a = attempt(shared ? NULL : mutex, CALLER), attempt_ends(&a);                          \
           !r || r == EOWNERDEAD ? acquired(a, region, 1) : vt_leave(region))

#define READS_IT(function, parameters, arguments, sleeps)                                                              \
    RECORD(function, VT_ROLE_FUNCTION, parameters, arguments, sleeps, if (sleeps) awaits_writer(lock, CALLER);         \
           vt_enter_call(region), vt_leave(region); read_lock(lock, CALLER, !r))

#define UNLOCKS_IT(function, type)                                                                                     \
    RECORD(function, VT_ROLE_FUNCTION, (type * mutex), (mutex), 0, released(mutex, region, 0), vt_leave(region))

/* The call releases the mutex and acquires it again. */
#define WAITS(function, parameters, arguments)                                                                         \
    WRAP(function, VT_ROLE_FUNCTION, parameters, arguments, SLEEPS | OF_CONDITION(condition))                          \
    {                                                                                                                  \
        uint32_t region = REGION(function);                                                                            \
        if (!region) return next_##function arguments;                                                                 \
        struct attempt a = {.at = CALLER};                                                                             \
        struct lock *of = waits(OF_CONDITION(condition) ? NULL : condition, mutex, &a);                                \
        vt_called_at = VT_CALLED_AT;                                                                                   \
        uint32_t depth = released(mutex, region, 1);                                                                   \
        int r = next_##function arguments;                                                                             \
        if (of) wait_ends();                                                                                           \
        depth ? acquired(a, region, depth) : vt_leave(region);                                                         \
        return r;                                                                                                      \
    }

/* A semaphore with a value has no wait. */
#define TAKES(function, parameters, arguments)                                                                         \
    RECORD(function, VT_ROLE_FUNCTION, parameters, arguments, is_empty(semaphore), struct attempt a = {.at = CALLER};  \
           struct lock *of = is_empty(semaphore) == SLEEPS ? waits(semaphore, NULL, &a) : NULL;                        \
           vt_enter_call(region), if (of) wait_ends(); vt_leave(region))

#define SIGNALS(function, parameters, arguments, site_of)                                                              \
    RECORD(function, VT_ROLE_FUNCTION, parameters, arguments, 0, signals(condition, CALLER, site_of);                  \
           vt_enter_call(region), vt_leave(region))

#define PLAIN(function, role, parameters, arguments, sleeps)                                                           \
    RECORD(function, role, parameters, arguments, sleeps, vt_enter_call(region), vt_leave(region))

/* clang-format off */
#define TIME const struct timespec *until

LOCKS_IT(pthread_mutex_lock, (pthread_mutex_t *mutex), (mutex), is_held(mutex), OF_MUTEX(mutex))
LOCKS_IT(pthread_mutex_trylock, (pthread_mutex_t *mutex), (mutex), 0, OF_MUTEX(mutex))
LOCKS_IT(pthread_mutex_timedlock, (pthread_mutex_t *mutex, TIME), (mutex, until), is_held(mutex), OF_MUTEX(mutex))
UNLOCKS_IT(pthread_mutex_unlock, pthread_mutex_t)
LOCKS_IT(mtx_lock, (mtx_t *mutex), (mutex), is_held(mutex), OF_MUTEX(mutex))
LOCKS_IT(mtx_trylock, (mtx_t *mutex), (mutex), 0, OF_MUTEX(mutex))
LOCKS_IT(mtx_timedlock, (mtx_t *mutex, TIME), (mutex, until), is_held(mutex), OF_MUTEX(mutex))
UNLOCKS_IT(mtx_unlock, mtx_t)

WAITS(pthread_cond_wait, (pthread_cond_t *condition, pthread_mutex_t *mutex), (condition, mutex))
WAITS(pthread_cond_timedwait, (pthread_cond_t *condition, pthread_mutex_t *mutex, TIME), (condition, mutex, until))
WAITS(cnd_wait, (cnd_t *condition, mtx_t *mutex), (condition, mutex))
WAITS(cnd_timedwait, (cnd_t *condition, mtx_t *mutex, TIME), (condition, mutex, until))
SIGNALS(pthread_cond_signal, (pthread_cond_t *condition), (condition), vt_lock_site)
SIGNALS(pthread_cond_broadcast, (pthread_cond_t *condition), (condition), vt_lock_site)
SIGNALS(cnd_signal, (cnd_t *condition), (condition), vt_lock_site)
SIGNALS(cnd_broadcast, (cnd_t *condition), (condition), vt_lock_site)

/* A barrier of several processes is no barrier of the threads of one. */
static struct vt_call shared_barrier = {"pthread_barrier_wait", VT_PARADIGM_PTHREAD, VT_ROLE_FUNCTION, 0, NULL};

WRAP(pthread_barrier_wait, VT_ROLE_BARRIER, (pthread_barrier_t *barrier), (barrier), SLEEPS | OF_BARRIER(barrier))
{
    uint32_t region = vt_shares_memory() ? 0 :
                      vt_call_region(OF_BARRIER(barrier) ? &shared_barrier : &call_pthread_barrier_wait);
    if (!region) return next_pthread_barrier_wait(barrier);
    vt_enter_call(region);
    int r = next_pthread_barrier_wait(barrier);
    vt_leave(region);
    return r;
}

/* A writer holds the lock. Several readers may have it, so their locks are not recorded as acquired. */
READS_IT(pthread_rwlock_rdlock, (pthread_rwlock_t *lock), (lock), is_taken(lock, 1))
READS_IT(pthread_rwlock_tryrdlock, (pthread_rwlock_t *lock), (lock), 0)
READS_IT(pthread_rwlock_timedrdlock, (pthread_rwlock_t *lock, TIME), (lock, until), is_taken(lock, 1))
LOCKS_IT(pthread_rwlock_wrlock, (pthread_rwlock_t *mutex), (mutex), is_taken(mutex, 0), OF_RWLOCK(mutex))
LOCKS_IT(pthread_rwlock_trywrlock, (pthread_rwlock_t *mutex), (mutex), 0, OF_RWLOCK(mutex))
LOCKS_IT(pthread_rwlock_timedwrlock, (pthread_rwlock_t *mutex, TIME), (mutex, until), is_taken(mutex, 0),
         OF_RWLOCK(mutex))
RECORD(pthread_rwlock_unlock, VT_ROLE_FUNCTION, (pthread_rwlock_t *lock), (lock), 0,
       if (read_unlock(lock)) vt_enter(region);
       else released(lock, region, 0), vt_leave(region))

LOCKS_IT(pthread_spin_lock, (pthread_spinlock_t *mutex), (mutex), 0, 0)
LOCKS_IT(pthread_spin_trylock, (pthread_spinlock_t *mutex), (mutex), 0, 0)
UNLOCKS_IT(pthread_spin_unlock, pthread_spinlock_t)

/* A semaphore has no holder: any thread may post it. */
TAKES(sem_wait, (sem_t *semaphore), (semaphore))
TAKES(sem_timedwait, (sem_t *semaphore, TIME), (semaphore, until))
PLAIN(sem_trywait, VT_ROLE_FUNCTION, (sem_t *semaphore), (semaphore), 0)
SIGNALS(sem_post, (sem_t *condition), (condition), vt_signal_safe_site)

#if __GLIBC_PREREQ(2, 30)
LOCKS_IT(pthread_mutex_clocklock, (pthread_mutex_t *mutex, clockid_t clock, TIME), (mutex, clock, until),
         is_held(mutex), OF_MUTEX(mutex))
WAITS(pthread_cond_clockwait, (pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock, TIME),
      (condition, mutex, clock, until))
READS_IT(pthread_rwlock_clockrdlock, (pthread_rwlock_t *lock, clockid_t clock, TIME), (lock, clock, until),
         is_taken(lock, 1))
LOCKS_IT(pthread_rwlock_clockwrlock, (pthread_rwlock_t *mutex, clockid_t clock, TIME), (mutex, clock, until),
         is_taken(mutex, 0), OF_RWLOCK(mutex))
TAKES(sem_clockwait, (sem_t *semaphore, clockid_t clock, TIME), (semaphore, clock, until))
#endif
/* clang-format on */

/* The first int of a semaphore is its value. */
static size_t find_flag(const void *lock, size_t bytes, int bits)
{
    for (size_t at = sizeof(int); at < bytes; at += sizeof(int))
        if (is_shared(lock, at, bits)) return at;
    return 0;
}

static void find_flags(void)
{
    pthread_condattr_t shared;
    pthread_cond_t condition;
    sem_t semaphore;
    memset(&condition, 0, sizeof condition);
    memset(&semaphore, 0, sizeof semaphore);
    if (pthread_condattr_init(&shared)) return;
    if (!pthread_condattr_setpshared(&shared, PTHREAD_PROCESS_SHARED) && !pthread_cond_init(&condition, &shared))
        flag_of_condition = find_flag(&condition, sizeof condition, 1);
    if (!sem_init(&semaphore, 1, 0)) flag_of_semaphore = find_flag(&semaphore, sizeof semaphore, -1);
}

/* Signal handlers may post a semaphore, so the next definitions are looked up here and not in the first call. */
__attribute__((constructor)) static void choose(void)
{
    int (*post)(sem_t *);
    *(void **)&post = find(&call_sem_post);
    next_sem_post = post;
    find_flags();
    wanted = vt_settings_pthread() == VT_PTHREAD_LOCKS;
    if (!wanted) return;
    (void)vt_call_sites_begin();
    vt_on_threads(&follower);
}
