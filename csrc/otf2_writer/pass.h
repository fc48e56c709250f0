/* SPDX-License-Identifier: BSD-3-Clause */
/* The second pass over one location: its state, and how its files write an event. */
#ifndef VT_PASS_H
#define VT_PASS_H

#include "containers.h"
#include "contexts.h"
#include "listener.h"
#include "times.h"
#include "transcode.h"

/* Keys of open regions: a function's enter, ENTER_KEY | region id, ADDRESS_KEY | address. */
#define ENTER_KEY (1ull << 32)
#define EARLY 16 /* most regions that ended with a function and may have a leave of their own later */
#define ADDRESS_KEY VT_OPEN_ADDRESS

#define SEARCH_CREDIT                                                                                                  \
    (1u << 28) /* steps that searches for the enters of stray leaves may take in total; then only the
                                    top is searched */
#define ATTRIBUTES_MAX 32u /* attributes of one event */

/* A fork of the location, or its membership of a team. */
struct team {
    uint32_t id, comm; /* local id; OTF2's id or VT_UNMAPPED; 0 for a fork */
    uint32_t nesting, depth; /* depth: of the stack before the team */
    int is_fork, waits;
};

struct pass {
    void *writer;
    int is_read; /* 1: the events are counted and given to the listener only; there is no writer */
    int unwritten; /* 1: the pass only finds the contexts */
    const struct vt_listener *listener; /* NULL: none */
    OTF2_AttributeList *attributes; /* attributes of the next event; NULL: none */
    const struct vt_maps *maps;
    struct vt_transcoded *result;
    struct vt_error *error;
    struct vt_times times;
    uint64_t ticks, last, begun; /* last: time of the newest event; begun: of the first block */
    uint64_t late_wait; /* ns of a wait for a processor after the time of its record */
    struct vt_open_region *frames;
    uint32_t depth, capacity;
    uint64_t *functions, mask; /* open addressing: offset << 32 | region, UINT64_MAX is free */
    unsigned shift;
    struct team *teams; /* open teams, innermost last */
    uint64_t teams_capacity;
    uint32_t nteams, location;
    int off, started, collective; /* collective: a collective has begun */
    uint32_t thinned; /* VT_GAP_THINNED + n: calls of less than 2^n ticks are only counted; 0: none */
    uint64_t thinned_since;
    uint64_t off_since, credit, early[EARLY]; /* early: keys of regions that ended with a function, newest last */
    uint32_t nearly;
    OTF2_AttributeList *list; /* attributes points to this list unless it is empty */
    uint32_t nattributes, attribute_ids[ATTRIBUTES_MAX];
    struct vt_pair_table requests; /* those that have started; only where a flight recorder has overwritten records */
    struct vt_starts *starts; /* NULL: none are wanted */
    const struct vt_start *from; /* NULL: the pass begins at the location's first row */
    struct vt_samples *samples; /* NULL: the archive has no calling contexts */
    uint64_t next_sample; /* ticks of the next sample, UINT64_MAX: there is none */
    uint32_t row, nrows; /* rows of events; in errors, rows of samples have numbers from nrows on */
    uint64_t messages; /* number of messages of the user API so far */
    uint32_t operations; /* number of I/O operations so far that are the only operation of their region */
    struct {
        uint64_t key, bytes; /* key of the region that frees the bytes */
        uint32_t depth;
        int if_null; /* also if the region returns no address */
    } freed;
};

static inline int done(struct pass *p, enum vt_event event, int32_t code)
{
    if (__builtin_expect(code == 0, 1)) {
        if (__builtin_expect(!p->started, 0)) p->result->first_ns = p->last;
        p->started = 1;
        p->result->counts[event]++;
        return VT_OK;
    }
    return vt_refused(p->error, code);
}

/* Writes an event with a list of attributes, or with those of p. The arguments are those of libotf2, starting with the
   time. The listener comes first, since libotf2 empties the list. */
#define WRITE_WITH(p, list, event, ...)                                                                                \
    ((p)->unwritten                                                                                                    \
             ? VT_OK                                                                                                   \
             : TELL(p, list, event, __VA_ARGS__)                                                                       \
                       ?: done(p, VT_N_EvtWriter_##event,                                                           \
                               !(p)->is_read ? vt_otf2.EvtWriter_##event((p)->writer, list, __VA_ARGS__) : 0))
#define WRITE_CALL(p, list, event, t, region)                                                                          \
    ((p)->unwritten                                                                                                    \
             ? VT_OK                                                                                                   \
             : TELL_CALL(p, list, event, t, region)                                                                    \
                       ?: done(p, VT_N_EvtWriter_##event,                                                           \
                               !(p)->is_read ? vt_otf2.EvtWriter_##event((p)->writer, list, t, region) : 0))
#define WRITE(p, event, ...) WRITE_WITH(p, (p)->attributes, event, __VA_ARGS__)

/* A file defines OF_handler(name, number) as `~, OF_##name = number,` for its handler: then enum { VT_KINDS(VT_HANDLED) }
   has the kinds of the handler only, and the compiler refuses a switch that lacks one of them. */
#define VT_HANDLED(name, number, words, class, id, stack, role, handler, payload) VT_REST(OF_##handler(name, number))
#define VT_REST(...) VT_AFTER_FIRST(__VA_ARGS__)
#define VT_AFTER_FIRST(first, ...) __VA_ARGS__

/* Maps a local id to OTF2's id. VT_UNMAPPED is counted: the event is omitted, since readers fail on undefined ids. */
static inline uint32_t mapped(struct pass *p, const uint32_t *map, uint64_t size, uint64_t id)
{
    uint32_t global = id < size ? map[id] : VT_UNMAPPED;
    p->result->unmapped += global == VT_UNMAPPED;
    return global;
}

/* Adds the offset of a group to a rank in it. */
static inline uint32_t shifted(uint32_t rank, uint32_t offset)
{
    /* Larger numbers stand for this group, self, or none (all). */
    return rank < VT_OTF2_COLLECTIVE_ROOT_THIS_GROUP ? rank + offset : rank;
}

static inline uint64_t vt_function_slot(const struct pass *p, uint32_t offset)
{
    return (offset * 0x9e3779b97f4a7c15u) >> p->shift;
}

/* Returns the region of a function; VT_UNMAPPED: none. */
static inline uint32_t vt_function_region(const struct pass *p, uint32_t offset)
{
    for (uint64_t at = vt_function_slot(p, offset);; at = (at + 1) & p->mask) {
        uint64_t entry = p->functions[at];
        if (entry >> 32 == offset) return (uint32_t)entry;
        if (entry == UINT64_MAX) return VT_UNMAPPED;
    }
}

/* plain_calls.c: takes calls of functions from words[at] of n on as far as they are common. Returns the place of the
   first word that it did not take. */
uint32_t vt_plain_calls(struct pass *p, const uint64_t *words, uint32_t at, uint32_t n);

/* starts.c: notes that a later pass may begin at row i, unless the pass carries on more than struct vt_start holds. */
int vt_note_start(struct pass *p, const struct vt_row *rows, uint32_t i);
/* Sets the state of a pass that begins at a start. */
int vt_begin_at(struct pass *p, const struct vt_start *from, const struct vt_open_region *opens);
/* transcode.c: makes a pass over the rows, and stores the contexts in `found` unless that is NULL. */
int vt_pass_run(struct pass *p, const struct vt_row *rows, uint32_t count, const struct vt_sampled *sampled,
                struct vt_contexts *found);

/* Keep the sizes and addresses of a call of a heap function for its event. */
int vt_heap_enter(struct pass *p, uint32_t what, const uint64_t *w);
/* address: the call's result. */
int vt_heap_leave(struct pass *p, uint32_t what, uint64_t address);

/* Keeps a number for the next event; id is OTF2's. */
int vt_attribute_uint64(struct pass *p, uint32_t id, uint64_t value);
/* Keeps a value for the next event. */
int vt_attribute(struct pass *p, uint32_t what, uint64_t value);
/* Forgets the values that were kept. */
void vt_attributes_end(struct pass *p);
/* Writes the values of a group of counters. */
int vt_metric_group(struct pass *p, uint64_t t, uint32_t what, const uint64_t *values);
/* Write the events of one-sided communication, of threads, locks and I/O. w: the payload. */
int vt_rma(struct pass *p, uint64_t t, uint32_t what, const uint64_t *w);
int vt_thread(struct pass *p, uint64_t t, uint32_t what, const uint64_t *w);
int vt_thread_lock(struct pass *p, uint64_t t, uint32_t what, uint64_t w);
int vt_io(struct pass *p, uint64_t t, uint32_t what, const uint64_t *w);
/* Ends the operation of the innermost region, whose call did not return. */
int vt_io_cancel(struct pass *p, uint64_t t);

/* Handles the records of the user API: messages, markers, comments, rewinds. */
int vt_user(struct pass *p, uint64_t t, uint32_t what, const uint64_t *w);

/* Handles the records of teams and tasks, and finds their times. */
int vt_team(struct pass *p, uint32_t what, const uint64_t *w);
/* End all teams: at missing blocks (t: now), and at the end of the location, where a team may wait beyond the last
   record. */
int vt_teams_close(struct pass *p, uint64_t t);
int vt_teams_end(struct pass *p);

/* Functions for regions, by local ids. */
uint64_t vt_time_at(struct pass *p, uint64_t ticks);
int vt_enter_region(struct pass *p, uint64_t t, uint32_t id);
int vt_leave_region(struct pass *p, uint64_t t, uint32_t id);
int vt_leave_to(struct pass *p, uint64_t t, uint32_t depth);

/* processor_waits.c: keeps the time in which the thread waited for a processor since its last event. */
int vt_processor_wait(struct pass *p, uint64_t ns, uint32_t region, uint64_t path);
/* The same for the time in which it slept. w: payload of a BLOCKED record. */
int vt_blocked(struct pass *p, const uint64_t *w, uint32_t region, uint64_t path);

/* gaps.c: keep an interval in which the location did not record. */
int vt_gap_add(struct pass *p, uint64_t from, uint64_t to, uint64_t count, uint32_t reason, uint32_t classes);
int vt_gap_lost(struct pass *p, uint32_t reason, uint64_t count);

/* Where a flight recorder has overwritten records, a completion without its start would confuse readers. */
static inline int vt_request_starts(struct pass *p, uint64_t id)
{
    return !p->result->dropped || !id || vt_pair_table_set(&p->requests, id, 0, 1) ? VT_OK : VT_NO_MEMORY;
}
static inline int vt_request_is_known(const struct pass *p, uint64_t id)
{
    return !p->result->dropped || !id || vt_pair_table_get(&p->requests, id, 0);
}

#endif
