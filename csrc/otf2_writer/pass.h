/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the second pass share: where it stands at one location, and how it writes an event. */
#ifndef VT_PASS_H
#define VT_PASS_H

#include "times.h"
#include "transcode.h"

/* What was entered: a function's enter, ENTER_KEY | region id, ADDRESS_KEY | address. */
#define ENTER_KEY (1ull << 32)
#define ADDRESS_KEY VT_OPEN_ADDRESS

#define ATTRIBUTES_MAX 32u /* of one event */

struct frame {
    uint64_t key;
    uint32_t region, operation; /* operation: of I/O, begun in it, 0: none */
};

/* A fork of the location, or its part in a team. */
struct team {
    uint32_t id, comm; /* local, OTF2's or VT_UNMAPPED; 0 of a fork */
    uint32_t nesting, depth; /* depth: of the stack before it */
    int is_fork, waits;
};

struct requests { /* open addressing, 0 is free */
    uint64_t *ids, size, count;
};

struct pass {
    void *writer;
    OTF2_AttributeList *attributes; /* of the next event; NULL: none */
    const struct vt_maps *maps;
    struct vt_transcoded *result;
    struct vt_error *error;
    struct vt_times times;
    uint64_t ticks, last, begun; /* last: time of the newest event; begun: of the first block */
    struct frame *frames;
    uint32_t depth, capacity;
    uint64_t *functions, mask; /* open addressing: offset << 32 | region, UINT64_MAX is free */
    unsigned shift;
    struct team *teams; /* open ones, innermost last */
    uint32_t nteams, teams_capacity, location;
    int off, started, collective; /* collective: one has begun */
    uint64_t off_since, credit;
    OTF2_AttributeList *list; /* what attributes points to when there are some */
    uint32_t nattributes, attribute_ids[ATTRIBUTES_MAX];
    struct requests requests; /* request.c */
    uint64_t messages; /* of the user API, so far */
    uint32_t operations; /* of I/O that are the only one of their region, so far */
    struct {
        uint64_t key, bytes; /* of the region that frees them */
        uint32_t depth;
        int if_null; /* also if no address is returned */
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

/* Writes an event with a list of attributes, or with those of p; its time and what follows are the arguments. */
#define WRITE_WITH(p, list, event, ...)                                                                                \
    done(p, VT_N_EvtWriter_##event, vt_otf2.EvtWriter_##event((p)->writer, list, __VA_ARGS__))
#define WRITE(p, event, ...) WRITE_WITH(p, (p)->attributes, event, __VA_ARGS__)

/* The OTF2 id of a local one; VT_UNMAPPED is counted: readers stand no event that refers to nothing. */
static inline uint32_t mapped(struct pass *p, const uint32_t *map, uint64_t size, uint64_t id)
{
    uint32_t global = id < size ? map[id] : VT_UNMAPPED;
    p->result->unmapped += global == VT_UNMAPPED;
    return global;
}

/* A rank in a communicator whose ranks stand at an offset in OTF2's. */
static inline uint32_t shifted(uint32_t rank, uint32_t offset)
{
    /* From there on: this group, self, none (all). */
    return rank < VT_OTF2_COLLECTIVE_ROOT_THIS_GROUP ? rank + offset : rank;
}

/* Keep what a call of the heap's functions says for the event that its record becomes. */
int vt_heap_enter(struct pass *p, uint32_t what, const uint64_t *w);
/* address: what was returned. */
int vt_heap_leave(struct pass *p, uint32_t what, uint64_t address);

/* Keeps a number for the next event; id is OTF2's. */
int vt_attribute_uint64(struct pass *p, uint32_t id, uint64_t value);
/* Keeps a value for the next event. */
int vt_attribute(struct pass *p, uint32_t what, uint64_t value);
/* Forgets what was kept. */
void vt_attributes_end(struct pass *p);
/* Events of one-sided communication, of I/O, of threads and locks. w: the payload. */
int vt_rma(struct pass *p, uint64_t t, uint32_t what, const uint64_t *w);
int vt_thread(struct pass *p, uint64_t t, uint32_t what, const uint64_t *w);
int vt_io(struct pass *p, uint64_t t, uint32_t what, const uint64_t *w);

/* The user API: messages, markers, comments, rewinds. */
int vt_user(struct pass *p, uint64_t t, uint32_t what, const uint64_t *w);

/* Teams and tasks; the time is found there. */
int vt_team(struct pass *p, uint32_t what, const uint64_t *w);
/* Ends all teams: at a hole (t: now), and at the end of the location, where one may wait beyond its last record. */
int vt_teams_close(struct pass *p, uint64_t t);
int vt_teams_end(struct pass *p);

/* What they need of regions, by local ids. */
uint64_t vt_time_at(struct pass *p, uint64_t ticks);
int vt_enter_region(struct pass *p, uint64_t t, uint32_t id);
int vt_leave_region(struct pass *p, uint64_t t, uint32_t id);
int vt_leave_to(struct pass *p, uint64_t t, uint32_t depth);

/* gaps.c: keep an interval in which the location did not record. */
int vt_gap_add(struct pass *p, uint64_t from, uint64_t to, uint64_t count, uint32_t reason, uint32_t classes);
int vt_gap_lost(struct pass *p, uint32_t reason, uint64_t count);

/* request.c: matters only where a flight recorder has overwritten records. */
int vt_request_starts(struct pass *p, uint64_t id);
int vt_request_is_known(const struct pass *p, uint64_t id);

#endif
