/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a recording process. The runtime completes the local files at MPI_Finalize, before an exec and at exit.
   The runtime needs no signal handlers for other ends, since the mapped buffer outlives the process. */
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wtsan" /* which does not know fences */
#endif
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include "process.h"

#define BUSY_WAIT 200 /* maximum wait for another thread to finish a record, in units of 0.1 ms */

/* Number of events that a location has lost. */
static uint64_t lost_of(struct vt_location *l) { return atomic_load(&l->lost) + VT_READ(l->left); }

/* Defines the number of events that the location has lost since its last LOST record, by reason. unwritten: number of
   events that the caller could not write. */
static void define_lost(struct vt_location *l, uint64_t unwritten)
{
    uint64_t by[VT_LOST_MOST] = {0};
    const uint64_t told = vt_process.set.mode == VT_MODE_PROFILE ? 0 : VT_READ(l->lost_told); /* a profile has none */
    by[VT_READ(l->lost_why)] += atomic_load(&l->lost) - told - unwritten;
    by[VT_LOST_WRITE] += unwritten;
    by[vt_size_reason()] += VT_READ(l->left);
    by[VT_LOST_THREAD] += l->number ? 0 : atomic_load(&vt_process.lost);
    for (unsigned why = 1; why < VT_LOST_MOST; why++) {
        if (by[why]) vt_define_at(l, VT_D_LOST, vt_number(l->number), vt_number(why), vt_number(by[why]));
    }
}

static uint32_t completed; /* number of locations at the end of the program; later locations get no files */

/* Defines the number of locations, so that vtunify notices missing files, even those of the last location. A number may
   have no location, if its thread was just starting. */
static void define_count(struct vt_location *first)
{
    char text[16];
    struct vt_text t = vt_text_into(text, sizeof text);
    uint32_t there = 0;
    for (uint32_t i = 0; i < completed && i < VT_MAX_LOCATIONS; i++) there += atomic_load(&vt_locations[i]) != NULL;
    vt_text_dec(&t, there);
    vt_define_property(first, "locations", text);
    vt_limits_define(first);
}

static void define_end(struct vt_location *l, uint64_t unwritten)
{
    if (!l->number) define_count(l);
    vt_define_at(l, VT_D_LOCATION, vt_number(l->number), vt_number(VT_READ(l->thread)),
                 vt_string(atomic_load(&l->ended) ? NULL : vt_thread_name(l)), vt_number(l->first));
    vt_define_clock(l);
    define_lost(l, unwritten);
    vt_samples_define(l);
    const struct vt_usage usage = vt_thread_usage(l);
    vt_define_at(l, VT_D_SUMMARY, vt_number(l->number), vt_number(VT_READ(l->records)),
                 vt_number(lost_of(l) + (l->number ? 0 : atomic_load(&vt_process.lost))),
                 vt_number(VT_READ(l->flushes)), vt_number(VT_READ(l->flush_ticks)), vt_number(0),
                 vt_number(VT_READ(l->clamped)), vt_number(VT_READ(l->last)), vt_number(VT_READ(l->stopped)),
                 vt_bytes(&usage, sizeof usage));
    vt_long_calls_end(l);
    vt_keep_define(l);
}

/* 1: the files have all records of the location. */
static int is_complete(struct vt_location *l)
{
    int has_samples = VT_READ(l->samples.chunk) || l->samples.full;
    return l->complete == atomic_load(&l->lost) + 1 && !VT_READ(l->chunk) && !l->full && !has_samples && !l->defs &&
           !l->defs_full;
}

/* Counts the events of unwritten chunks that are in memory only; these events are lost. Other unwritten chunks remain
   in the buffer file. Returns the number of lost events. */
static uint64_t count_unwritten(struct vt_location *l)
{
    uint64_t lost = 0, records = 0;
    if (!vt_location_lock(l)) return 0;
    for (struct vt_chunk *c = l->full; c; c = vt_chunk_next(c)) {
        if (!vt_chunk_in_memory(c)) continue;
        lost += vt_events_in(vt_chunk_words(c), c->used / 8);
        records += c->records;
    }
    VT_SET(l->records, l->records - records);
    atomic_fetch_add(&l->lost, lost);
    vt_location_unlock(l);
    return lost;
}

/* 1: no definitions of the location are in memory only. */
static int ends_in_buffer(struct vt_location *l)
{
    int all = 1;
    if (!vt_location_lock(l)) return 1;
    if (l->defs) all &= !vt_chunk_in_memory(l->defs);
    for (struct vt_chunk *c = l->defs_full; c; c = vt_chunk_next(c)) all &= !vt_chunk_in_memory(c);
    vt_location_unlock(l);
    return all;
}

/* Writes the definitions of the location's end into the last chunk of the buffer file. Returns 0 if there is no
   room. */
static int define_last(struct vt_location *l, uint64_t unwritten)
{
    struct vt_location *first = atomic_load(&vt_locations[0]);
    struct vt_chunk *last = first ? vt_buffer_last_chunk(&first->defs_sequence, first->thread) : NULL, *own;
    if (!last || !vt_location_lock(l)) return 0;
    own = l->defs;
    l->defs = last;
    vt_location_unlock(l);
    define_end(l, unwritten);
    if (!vt_location_lock(l)) return 0;
    l->defs = own;
    vt_location_unlock(l);
    return 1;
}

/* Writes all records and definitions of a location at its end. The events are written first, because a failed write
   adds to the lost events that the definitions state. If the buffer is in memory, earlier definitions are written
   before the events. Events and definitions that cannot be written remain in the buffer. last: 1 if this is the last
   attempt. Returns 1 if the files are complete. */
static int write_end(struct vt_location *l, int last)
{
    int ended = atomic_load(&vt_process.state) == VT_ENDED; /* otherwise recording may continue after a failed exec */
    int wrote = (vt_buffer_in_file() ? vt_file_flush_events(l) : vt_file_flush(l)) >= 0;
    if (!wrote && !last) return 0;
    uint64_t unwritten = wrote ? 0 : count_unwritten(l);
    if (!wrote && ended && define_last(l, unwritten)) return 0;
    define_end(l, unwritten);
    if (!wrote) l->unwritten = 1u << VT_EVENTS; /* the unwritten events count as lost */
    wrote &= vt_file_flush_last(l) >= 0;
    if (!wrote && ended && !ends_in_buffer(l)) define_last(l, unwritten);
    return wrote;
}

void vt_location_complete(struct vt_location *l)
{
    vt_busy_begin(l);
    if (vt_location_lock(l)) {
        vt_chunk_finish(l);
        vt_ring_end(l);
        vt_samples_finish(l);
        vt_location_unlock(l);
        if (write_end(l, 0)) l->complete = atomic_load(&l->lost) + 1;
    }
    vt_busy_end(l);
}

/* Writes the records of a location. At the end of the program other threads may still run. Such a thread finds no room
   from now on, and this function does not read the records that the thread publishes later. */
static int complete(struct vt_location *l, int last)
{
    int own = l == vt_own_location;
    if (!own && last) {
        VT_SET(l->limit, NULL);
        atomic_thread_fence(memory_order_seq_cst); /* with that in polls.c */
        for (int i = 0; VT_READ(l->busy) && i < BUSY_WAIT; i++) vt_pause();
    }
    if (last) { /* its thread may not have noticed that recording was switched off or on */
        vt_closing = 1;
        vt_switch_follow(l, vt_now());
        vt_closing = 0;
        if (own) vt_put_last_wait(l);
    }
    if (own || last) {
        if (!vt_location_lock(l)) return 0;
        vt_chunk_finish(l); /* the next event begins another chunk */
        if (last) vt_ring_end(l);
        vt_samples_finish(l);
        if (last) l->unwritten = 0; /* try again: the disk may have space now */
        vt_location_unlock(l);
    }
    return last ? write_end(l, 1) : vt_file_flush(l) >= 0;
}

static int complete_all(int last)
{
    uint32_t n = atomic_load(&vt_process.locations);
    int all = 1;
    if (last) completed = n;
    for (uint32_t i = 0; i < n && i < VT_MAX_LOCATIONS; i++) {
        struct vt_location *l = atomic_load(&vt_locations[i]);
        if (l && !is_complete(l)) all &= complete(l, last);
    }
    if (!vt_process.name_rank) vt_file_uctl();
    return all;
}

static void write_out_all(struct vt_location *l)
{
    uint64_t begin = vt_now();
    if (vt_process.set.mode != VT_MODE_PROFILE) vt_ring_answered(l); /* a profile's ring stays for the next event */
    complete_all(0);
    vt_tell_flush(l, begin);
}

static void flush(int all)
{
    struct vt_location *l = vt_location_to_record(0);
    if (!l || vt_shares_memory()) return;
    if (vt_window_is_due(vt_now())) vt_window_apply(l);
    vt_busy_begin(l);
    if (all) write_out_all(l);
    else vt_write_out(l);
    vt_busy_end(l);
}

void vt_complete(void) { flush(1); }

void vt_flush(void)
{
    if (vt_process.set.mode != VT_MODE_TRACE) vt_ring_ask();
    flush(0);
}

void vt_flush_together(void)
{
    struct vt_location *l = vt_location_to_record(0);
    if (!l || l->stopped) return;
    vt_complete();
    vt_busy_begin(l);
    vt_location_flushed(l);
    vt_busy_end(l);
}

int vt_suspend(void)
{
    uint32_t n = atomic_load(&vt_process.locations);
    struct vt_location *own = vt_own_location;
    if (!own || own->number || !own->in_use || VT_READ(own->busy) || n != 1 + atomic_load(&vt_process.ended)) return 0;
    vt_busy_begin(own);
    VT_SET(own->samples.closed, 1); /* the process may continue without this buffer */
    int all = complete_all(1);
    if (all) vt_buffer_close(!vt_process.set.clean);
    if (!all) VT_SET(own->samples.closed, 0);
    vt_busy_end(own);
    return all;
}

void vt_resume(void)
{
    int saved = errno;
    if (vt_process.head.buffer[0]) VT_SYS3(unlinkat, AT_FDCWD, vt_process.head.buffer, 0);
    for (uint32_t i = 0; i < atomic_load(&vt_process.locations) && i < VT_MAX_LOCATIONS; i++) {
        struct vt_location *l = atomic_load(&vt_locations[i]);
        if (l) vt_profile_keep(l);
    }
    if (!vt_buffer_open()) atomic_store(&vt_process.state, VT_FAILED);
    VT_SET(vt_own_location->samples.closed, 0);
    errno = saved;
}

static void say_size(uint64_t events)
{
    char size[32];
    uint64_t set = vt_process.set.max_size;
    if (vt_process.set.budget) {
        vt_settings_show_size(size, sizeof size, vt_process.set.budget);
        vt_say(1, "recording stopped at VT_BUDGET=%s: %llu events of rank 0 are missing; set a larger VT_BUDGET", size,
               (unsigned long long)events);
        return;
    }
    vt_settings_show_size(size, sizeof size, set ? set : atomic_load(&vt_process.max_size));
    int small = !set && atomic_load(&vt_process.small_disk);
    vt_say(1,
           "recording stopped at VT_MAX_SIZE=%s%s%s%s: %llu events of rank 0 are missing; %s, or filter functions "
           "(vtrace score --fit)",
           size, small ? " (from the free space of " : "", small ? vt_process.set.gdir : "", small ? ")" : "",
           (unsigned long long)events,
           small ? "set VT_MAX_SIZE, or set VT_PFORM_GDIR to a larger disk" : "set a larger VT_MAX_SIZE");
}

/* The option --force for the vtunify command in the message, which must work as printed. vtunify replaces an existing
   archive only with --force. */
static const char *force_for(const char *prefix)
{
    static char archive[1040];
    struct vt_text t = vt_text_into(archive, sizeof archive);
    vt_text_add(&t, prefix, ".trace");
    return VT_SYS3(faccessat, AT_FDCWD, archive, F_OK) ? "" : "--force ";
}

/* Says how many iterations are left out (VT_KEEP), or took long (VT_TRIGGER). */
static void say_iterations(void)
{
    uint64_t all = 0, left_out = 0, fires = 0;
    if (!vt_keep_looks()) return;
    for (uint32_t i = 0; i < atomic_load(&vt_process.locations) && i < VT_MAX_LOCATIONS; i++) {
        struct vt_location *l = atomic_load(&vt_locations[i]);
        const struct vt_keep *k = l ? VT_READ(l->keep) : NULL;
        all += k ? VT_READ(k->iterations) : 0;
        left_out += k ? VT_READ(k->left_out) : 0;
        fires += k ? VT_READ(k->fires) : 0;
    }
    if (vt_trigger_lacks_counter())
        vt_say(1, "VT_TRIGGER=%s: the program has defined no such counter by the user API", vt_process.set.trigger);
    if (!*vt_process.set.iteration) vt_say(1, "VT_TRIGGER fired %llu times on rank 0", (unsigned long long)fires);
    else if (all && *vt_process.set.trigger)
        vt_say(1, "VT_TRIGGER fired for %llu of %llu iterations of rank 0", (unsigned long long)fires,
               (unsigned long long)all);
    else if (all)
        vt_say(1, "VT_KEEP kept %llu of %llu iterations of rank 0 in full; the calls in the others are counted",
               (unsigned long long)(all - left_out), (unsigned long long)all);
    else vt_say(1, "VT_ITERATION=%s has no calls: all is recorded", vt_process.set.iteration);
}

static void say_what_was_written(int all)
{
    uint64_t records = 0, samples = 0, lost = atomic_load(&vt_process.lost), bytes = 0, limited = 0, overwritten = 0,
             sized = 0;
    static char operand[1024], word[1400], here[PATH_MAX];
    const int profile = vt_process.set.mode == VT_MODE_PROFILE;
    uint32_t n = atomic_load(&vt_process.locations);
    for (uint32_t i = 0; i < n && i < VT_MAX_LOCATIONS; i++) {
        struct vt_location *l = atomic_load(&vt_locations[i]);
        if (!l) continue;
        uint64_t wrote = VT_READ(l->written_bytes), gone = lost_of(l);
        records += profile ? VT_READ(l->counted) : VT_READ(l->records) + VT_READ(l->counted);
        samples += VT_READ(l->samples.samples);
        bytes += wrote;
        overwritten += VT_READ(l->overwritten);
        if (VT_READ(l->stopped) == VT_LOST_LIMIT) limited += gone;
        else if (VT_READ(l->stopped) == vt_size_reason() || VT_READ(l->left) || l->is_beyond) sized += gone;
        else lost += gone;
        vt_say(2, "thread %u: %llu records in %llu bytes, %u flushes, %llu events lost", l->number,
               (unsigned long long)VT_READ(l->records), (unsigned long long)wrote, VT_READ(l->flushes),
               (unsigned long long)gone);
    }
    struct vt_text t = vt_text_into(operand, sizeof operand);
    int in_buffer = !all && vt_buffer_is_there();
    const char *where = in_buffer && !vt_file_is_there() ? vt_process.set.ldir : vt_process.set.gdir;
    if (VT_SYS2(getcwd, here, sizeof here) <= 0 || strcmp(here, where)) {
        vt_text_add(&t, where, "/");
    }
    vt_text_add(&t, vt_process.set.prefix);
    t = vt_text_into(word, sizeof word);
    vt_text_word(&t, operand);
    if (limited)
        vt_say(1,
               "recording stopped at VT_MAX_FLUSHES=%llu: %llu events of rank 0 are missing; set VT_MAX_FLUSHES=0 or a "
               "larger VT_BUFFER_SIZE",
               (unsigned long long)vt_process.set.max_flushes, (unsigned long long)limited);
    if (sized) say_size(sized);
    if (lost) vt_say(1, "%llu events of rank 0 could not be recorded", (unsigned long long)lost);
    if (in_buffer)
        vt_say(1, "the local files are not complete; vtunify reads the other records from the buffer %s",
               vt_process.head.buffer);
    if (overwritten && !profile)
        vt_say(1, "VT_MODE=RING kept the last records of each thread; %llu older records of rank 0 were overwritten",
               (unsigned long long)overwritten);
    say_iterations();
    if (vt_process_lacks_shim())
        vt_say(1,
               "MPI calls were not recorded, since the executable was linked without vtrace: use vtrace run, or link "
               "it with vtrace-cc");
    char sampled[48] = "";
    t = vt_text_into(sampled, sizeof sampled);
    if (samples) {
        vt_text_add(&t, ", ");
        vt_text_dec(&t, samples);
        vt_text_add(&t, samples == 1 ? " sample" : " samples");
    }
    const char *next = vt_process.set.unify ? "" : "; next: vtunify ";
    if (vt_process.set.unify) word[0] = 0; /* vtrace run continues with vtunify */
    vt_say(1, "rank 0 of %u wrote %s%llu %s%s%s, %llu bytes%s%s%s", vt_process.head.world_size,
           profile ? "a profile of " : "", (unsigned long long)records, profile ? "event" : "record",
           records == 1 ? "" : "s", sampled, (unsigned long long)bytes, next, *next ? force_for(operand) : "", word);
}

/* A forked child that has recorded nothing returns early: it has no files, and the parent's files belong to the
   parent. */
void vt_end(void)
{
    int on = VT_ON;
    if (!vt_is_recording()) return;
    struct vt_location *l = vt_own_location && vt_own_location->in_use ? vt_own_location : NULL;
    if (l && !VT_READ(l->busy)) vt_thread_exits(l);
    vt_window_end(l && !VT_READ(l->busy) ? l : NULL);
    if (l) vt_busy_begin(l);
    if (!atomic_load(&vt_locations[0])) { /* main thread without records: location 0 identifies the process */
        struct vt_location *first = vt_location_new(vt_process.pid);
        if (first) vt_define_process(first);
    }
    vt_be_alone();
    atomic_compare_exchange_strong(&vt_process.state, &on, VT_ENDED);
    int all = complete_all(1);
    vt_buffer_close(!all || !vt_process.set.clean);
    vt_node_end();
    if (!vt_process.name_rank) say_what_was_written(all);
}

/* ---- The last moment of the process: after the destructors of all libraries ---- */

/* As atexit and at_quick_exit. Handlers that no library owns (NULL) outlive the destructors of libraries. libc runs the
   handlers registered last first, those registered in a handler next, and the destructors in one handler. */
int __cxa_atexit(void (*handler)(void *), void *argument, void *library);
int __cxa_at_quick_exit(void (*handler)(void *), void *library);

static _Atomic int registered;
static int destroyed; /* 1: the destructor of this library has run; those of other libraries may follow */
static int is_early; /* 1: the handler of the constructor has run before the destructors: dlopen loaded this library */
static int is_over; /* 1: no handler will run that could end recording */

/* A sample that comes later begins no recording, which nothing would end. */
void vt_end_for_good(void)
{
    is_over = 1;
    vt_end();
}

static void end_at_quick_exit(void *unused)
{
    (void)unused;
    vt_end_for_good();
}

static void end_at_exit(void *unused)
{
    is_early = !destroyed;
    if (destroyed) end_at_quick_exit(unused);
}

/* The constructor runs before libc registers the handler of the destructors, unless dlopen loads this library. */
__attribute__((constructor)) void vt_end_register(void)
{
    if (atomic_exchange(&registered, 1)) return;
    __cxa_atexit(end_at_exit, NULL, NULL);
    __cxa_at_quick_exit(end_at_quick_exit, NULL);
}

__attribute__((destructor)) static void destroy(void)
{
    destroyed = 1;
    if (is_early && __cxa_atexit(end_at_exit, NULL, NULL)) end_at_quick_exit(NULL);
}

int vt_end_is_over(void) { return is_over; }
