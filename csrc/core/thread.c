/* SPDX-License-Identifier: BSD-3-Clause */
/* Start, name and end of threads. A later thread may take over the location of an ended thread.
   Memory order: the sequentially consistent exchange that enters a location in vt_locations comes after the location
   is complete. `ended` is stored and taken by sequentially consistent operations; the relaxed load before only skips
   locations. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include "process.h"

#define INNER_KEYS 32 /* pthread keys below this number need no allocation (glibc) */

static pthread_key_t at_end;

/* Returns the current name of the thread; NULL if it is the default name, which all threads have from the program's
   file. */
const char *vt_thread_name(struct vt_location *l)
{
    char path[64], name[sizeof l->name] = "";
    if (!l->number) return NULL;
    if (*l->given) memcpy(name, l->given, sizeof name);
    else if (l == vt_own_location) VT_SYS2(prctl, PR_GET_NAME, name);
    else {
        struct vt_text t = vt_text_into(path, sizeof path);
        vt_text_add(&t, "/proc/self/task/");
        vt_text_dec(&t, VT_READ(l->thread));
        vt_text_add(&t, "/comm");
        long n = vt_read_file(path, name, sizeof name);
        if (n <= 0) return NULL;
        if (name[n - 1] == '\n') name[n - 1] = 0;
    }
    if (!*name || !strcmp(name, vt_process.name)) return NULL;
    memcpy(l->name, name, sizeof name);
    return l->name;
}

void vt_name_thread(uint32_t thread, const char *name)
{
    struct vt_location *l = vt_location_of_thread(0);
    const uint32_t n = atomic_load(&vt_process.locations);
    if (l && l->thread != thread) l = NULL;
    for (uint32_t i = 0; i < n && i < VT_MAX_LOCATIONS && !l; i++) {
        struct vt_location *other = atomic_load(&vt_locations[i]);
        if (other && VT_READ(other->thread) == thread && !atomic_load(&other->ended)) l = other;
    }
    if (!l || !name) return;
    struct vt_text t = vt_text_into(l->given, sizeof l->given);
    vt_text_add(&t, name);
}

static void tell_name(struct vt_location *l)
{
    char before[sizeof l->name];
    memcpy(before, l->name, sizeof before);
    const char *name = vt_thread_name(l);
    if (!name || !memcmp(before, name, sizeof before)) return;
    vt_define_at(l, VT_D_LOCATION, vt_number(l->number), vt_number(l->thread), vt_string(name), vt_number(l->first));
}

static _Thread_local const char *helped __attribute__((tls_model("initial-exec")));
/* 1: the thread writes its THREAD_BEGIN record */
static _Thread_local int is_beginning __attribute__((tls_model("initial-exec")));

void vt_thread_helps(const char *library) { helped = library; }

const char *vt_thread_helper(void) { return helped; }

static void (*_Atomic shim_at_end)(void);
void vt_at_thread_end(void (*call)(void)) { atomic_store(&shim_at_end, call); }

/* The parts of the runtime that follow threads. */
static struct vt_thread_follower *_Atomic followers;

void vt_on_threads(struct vt_thread_follower *follower)
{
    follower->next = atomic_load(&followers);
    atomic_store(&followers, follower);
}

static void (*_Atomic before_exec)(void), (*_Atomic after_exec)(void);

void vt_on_exec(void (*before)(void), void (*failed)(void))
{
    atomic_store(&after_exec, failed);
    atomic_store(&before_exec, before);
}

void vt_before_exec(void)
{
    void (*call)(void) = atomic_load(&before_exec);
    if (call) call();
}

void vt_after_exec(void)
{
    void (*call)(void) = atomic_load(&after_exec);
    if (call) call();
}

void vt_thread_began(struct vt_location *l)
{
    for (struct vt_thread_follower *f = atomic_load(&followers); f; f = f->next) f->begins(l);
}

void vt_thread_exits(struct vt_location *l)
{
    for (struct vt_thread_follower *f = atomic_load(&followers); f; f = f->next)
        if (f->exits) f->exits(l);
}

/* Destructor of a pthread key. The end is written in the second round of destructors, after the records of other
   destructors in the first round. */
static void on_thread_end(void *location)
{
    struct vt_location *l = location;
    int saved = errno;
    if (l != vt_own_location || !l->in_use) return; /* in a forked child */
    if (!l->late) {
        vt_frames_end(l); /* calls that pthread_exit or pthread_cancel has left */
        l->late = 1;
        if (!pthread_setspecific(at_end, l)) return;
    }
    void (*call)(void) = atomic_load(&shim_at_end);
    for (struct vt_thread_follower *f = atomic_load(&followers); f; f = f->next)
        if (f->ends) f->ends(l);
    if (call) call();
    if (atomic_load(&vt_process.state) == VT_ON) tell_name(l);
    if (vt_process.set.processor_wait && atomic_load(&vt_process.state) == VT_ON && !VT_READ(l->busy)) {
        vt_busy_begin(l);
        vt_put_last_wait(l);
        vt_busy_end(l);
    }
    if (l->begun) vt_write_2(VT_HEAD(VT_K_THREAD_END, 1, 0), l->begun);
    l->begun = 0;
    vt_thread_time_end(l);
    if (!l->number) { /* main has called pthread_exit; its location has the records of the process */
        errno = saved;
        return;
    }
    if (!vt_process.set.pthread_reuse && atomic_load(&vt_process.state) == VT_ON) vt_location_complete(l);
    atomic_store(&l->ended, 1);
    atomic_fetch_add(&vt_process.ended, 1);
    errno = saved;
}

int vt_thread_start(void)
{
    char name[sizeof vt_process.name + 1];
    if (vt_read_file("/proc/self/comm", name, sizeof name) > 0) memcpy(vt_process.name, name, strcspn(name, "\n"));
    return !pthread_key_create(&at_end, on_thread_end) && at_end < INNER_KEYS;
}

void vt_thread_watch(struct vt_location *l) { pthread_setspecific(at_end, l); }

void vt_thread_begins(uint64_t number)
{
    is_beginning = 1;
    vt_write_2(VT_HEAD(VT_K_THREAD_BEGIN, 1, 0), number);
    is_beginning = 0;
    struct vt_location *l = vt_own_location;
    if (!l) return;
    if (!l->off) l->begun = number;
    for (struct vt_thread_follower *f = atomic_load(&followers); f; f = f->next)
        if (f->has_begun) f->has_begun(l);
}

/* ---- The locations of threads ---- */

static uint32_t share(uint64_t bytes, uint32_t least)
{
    uint64_t chunks = (bytes + VT_CHUNK_SIZE - 1) / VT_CHUNK_SIZE;
    return chunks < least ? least : chunks > UINT32_MAX ? UINT32_MAX : (uint32_t)chunks;
}

/* Returns the share of a location in the buffer, in chunks. Guide, Table 4.5: 70 % of VT_BUFFER_SIZE for the first
   thread and 10 % for each other thread, or both sizes as set. */
static uint32_t quota_of(uint32_t number)
{
    const struct vt_settings *s = &vt_process.set;
    /* a single flush must not exceed VT_MAX_SIZE by much */
    uint32_t most = s->max_size ? share(s->max_size / 20, 2) : UINT32_MAX;
    /* the current chunk, in addition to those that the flight recorder keeps */
    uint32_t filling = (uint32_t)vt_ring_keeps();
    uint64_t bytes = !number ? (s->thread_buffer_size ? s->buffer_size : s->buffer_size / 10 * 7)
                             : (s->thread_buffer_size ? s->thread_buffer_size : s->buffer_size / 10);
    uint32_t chunks = share(bytes, number ? 1 : 2);
    return (chunks < most || filling ? chunks : most) + filling;
}

#define KERNEL_IDS 15u /* most ids of earlier threads that a location defines */

/* Takes over the location of an ended thread. The thread's destructors have run. tgkill returns -ESRCH when no other
   destructor can record in the location. The thread that changes `ended` to 0 decides, so that no two threads take over
   the same location. */
static struct vt_location *adopt(uint32_t thread)
{
    uint32_t n = atomic_load(&vt_process.locations);
    if (!vt_process.set.pthread_reuse || !atomic_load(&vt_process.ended)) return NULL;
    for (uint32_t i = 1; i < n && i < VT_MAX_LOCATIONS; i++) {
        struct vt_location *l = atomic_load(&vt_locations[i]);
        uint32_t ended = 1;
        if (!l || !atomic_load_explicit(&l->ended, memory_order_relaxed)) continue;
        /* helper threads do not share a location with threads of the program */
        if (l->helper != vt_thread_helper()) continue;
        /* THREAD_BEGIN separates the counters of two threads in the archive */
        if (l->slot[VT_SLOT_COUNTERS] && !is_beginning) continue;
        if (!atomic_compare_exchange_strong(&l->ended, &ended, 0)) continue;
        if (l->thread != thread && VT_SYS3(tgkill, vt_process.pid, l->thread, 0) != -ESRCH) {
            atomic_store(&l->ended, 1);
            continue;
        }
        atomic_fetch_sub(&vt_process.ended, 1);
        uint64_t record[2] = {VT_HEAD(VT_K_THREAD, 1, 0), thread};
        const uint32_t before = l->thread;
        l->begun = l->late = 0;
        l->given[0] = 0;
        VT_SET(l->is_timed, 0);
        l->waited = l->wait = l->short_waits = l->slept = l->core_read = 0;
        VT_SET(l->thread, thread);
        l->frame = l->frames ? l->frames : &vt_no_frame;
        l->stack_low = 0;
        vt_limited_reset(l);
        if (vt_location_lock(l)) {
            l->mark.chunk = NULL;
            l->mark.voided = 0;
            vt_location_unlock(l);
        }
        if (l->busy) vt_location_mend(l); /* the thread was cancelled while recording */
        if (l->adopted < KERNEL_IDS && before != thread) { /* the last thread's id is defined at the end */
            l->adopted++;
            vt_define_at(l, VT_D_LOCATION, vt_number(l->number), vt_number(before), vt_string(NULL),
                         vt_number(l->first));
        }
        vt_busy_begin(l);
        vt_put(l, record, 2, vt_now());
        vt_busy_end(l);
        return l;
    }
    return NULL;
}

static void say_too_many(int at_once)
{
    if (at_once)
        vt_warn(
            "more than %llu threads at once: the others are not recorded; set a larger VT_MAX_THREADS (at most 65536)",
            (unsigned long long)vt_process.set.max_threads);
    else
        vt_warn("more than %u threads with a location each: the others are not recorded; set VT_PTHREAD_REUSE=yes, so "
                "that new threads reuse the locations of ended threads",
                VT_MAX_LOCATIONS - 1);
}

/* Returns 1 if a thread whose location would have this number is recorded. */
static int may_begin(uint32_t number)
{
    uint32_t ended = atomic_load(&vt_process.ended), alive = ended < number ? number - ended : 0;
    if (number < VT_MAX_LOCATIONS && alive < vt_process.set.max_threads) return 1;
    say_too_many(alive >= vt_process.set.max_threads);
    return 0;
}

/* Takes the next number. A number is not returned: a gap in the numbers of files would look like lost files. */
static int take_number(uint32_t *number)
{
    *number = atomic_load(&vt_process.locations);
    while (may_begin(*number))
        if (atomic_compare_exchange_weak(&vt_process.locations, number, *number + 1)) return 1;
    return 0;
}

static struct vt_location *create(uint32_t thread)
{
    struct vt_location *l, *none = NULL;
    uint32_t number = 0;
    if (thread != vt_process.pid && !may_begin(atomic_load(&vt_process.locations))) return NULL;
    size_t bytes = (sizeof *l + VT_PAGE - 1) & ~(size_t)(VT_PAGE - 1);
    l = vt_pages_wiped(bytes);
    if (!l) {
        vt_warn("no memory to record another thread");
        return NULL;
    }
    if (thread != vt_process.pid && !take_number(&number)) {
        VT_SYS2(munmap, l, bytes);
        return NULL;
    }
    if (number) vt_location_create_buffer();
    l->number = number;
    l->thread = thread;
    l->in_use = 1;
    l->frame = l->frames_end = &vt_no_frame;
    l->helper = number ? vt_thread_helper() : NULL;
    l->quota = quota_of(number);
    vt_ring_answered(l);
    l->first = l->last = vt_now();
    memset(l->filter, 0xff, sizeof l->filter); /* an offset never has all bits set */
    if (atomic_compare_exchange_strong(&vt_locations[number], &none, l)) return l;
    VT_SYS2(munmap, l, bytes); /* another thread ends the program and has created the main thread's location */
    return NULL;
}

struct vt_location *vt_location_new(uint32_t thread)
{
    struct vt_location *l = thread == vt_process.pid ? NULL : adopt(thread);
    return l ? l : create(thread);
}

static struct vt_location *create_without_thread(void)
{
    struct vt_location *l = create(VT_NO_THREAD);
    if (!l) return NULL;
    l->helper = NULL;
    VT_SET(l->is_timed, 1);
    atomic_fetch_add(&vt_process.ended, 1); /* no thread of the program */
    return l;
}

static void define_of_location(struct vt_location *l, const char *prefix, const char *value)
{
    char key[24];
    struct vt_text t = vt_text_into(key, sizeof key);
    vt_text_add(&t, prefix);
    vt_text_dec(&t, l->number);
    vt_define_property(l, key, value);
}

struct vt_location *vt_location_new_lane(void)
{
    struct vt_location *l = create_without_thread();
    if (l) define_of_location(l, "lane.", "ranges");
    return l;
}

struct vt_location *vt_location_new_stream(const char *name, const char *device, uint64_t begin)
{
    struct vt_location *l = create_without_thread();
    if (!l) return NULL;
    l->first = l->last = begin;
    l->is_stream = 1;
    define_of_location(l, "stream.", name);
    define_of_location(l, "device.", device);
    return l;
}

void vt_bind_location(struct vt_location *l)
{
    vt_own_location = l;
    if (l && vt_process.set.processor_wait && !l->core_read) vt_off_core_start(l);
    vt_cursor = l && vt_clock_is_counter && !vt_sees_records ? &l->write_cursor : NULL;
    vt_counts_bind(l);
}

/* Handles an event that comes while its thread is recording. The event of a signal handler is lost and counted; returns
   NULL. After siglongjmp has left a recording for good, clears busy and returns the location. */
static struct vt_location *not_busy(struct vt_location *l, unsigned events)
{
    if (vt_suppressed) return NULL;
    if (vt_busy_is_stale(l->busy, vt_stack_pointer())) {
        vt_location_mend(l);
        return l;
    }
    if (!l->stopped) l->lost_why = VT_LOST_SIGNAL;
    atomic_fetch_add_explicit(&l->lost, events, memory_order_relaxed);
    VT_SET(l->limit, NULL); /* the next event takes the slow path and reports the loss */
    return NULL;
}

struct vt_location *vt_location_to_record(unsigned events)
{
    struct vt_location *l = vt_location_of_thread(events);
    return l && VT_UNLIKELY(VT_READ(l->busy)) ? not_busy(l, events) : l;
}
