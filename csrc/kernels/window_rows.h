/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls and events of a window of time as columns, location by location, for timeline/window_reader.py. The
   rules of tiles.h hold. Only one thread at a time uses a window. */
#ifndef VT_WINDOW_ROWS_H
#define VT_WINDOW_ROWS_H

#include "../otf2_reader/stack_replay.h"

/* The columns of calls, described in timeline/window_events.py. */
#define VT_CALL_COLUMNS(X)                                                                                             \
    X(LOCATION, 0)                                                                                                     \
    X(BEGIN, 1) X(END, 2) X(REGION, 3) X(DEPTH, 4) X(EXCLUSIVE, 5) X(NUMBER, 6) X(FLAGS, 7) X(CALLS, 8) X(COLUMNS, 9)
enum vt_call_column {
#define VT_CALL_NUMBER(name, number) VT_CALL_##name = number,
    VT_CALL_COLUMNS(VT_CALL_NUMBER)
#undef VT_CALL_NUMBER
};
#define VT_CALL_OPEN 1 /* flag of a call that is still open at the end of the window */

/* An event with values, as in struct vt_detail. */
struct vt_window_event {
    int64_t time, begin; /* begin: start of the blocking collective operation that ends here; else -1 */
    uint64_t number; /* among the location's events, from 1 */
    uint64_t words[VT_DETAIL_WORDS];
    uint32_t location, kind, ref, region;
};

struct vt_window {
    int64_t start, stop; /* ns, without stop */
    uint64_t location, first; /* the current location, and the number of its first event that is read */
    int64_t *calls; /* [VT_CALL_COLUMNS][calls_room] */
    struct vt_window_event *events;
    uint64_t ncalls, calls_room, nevents, events_room;
    uint8_t wanted[128]; /* 1 for kinds to keep as events */
};

/* Writes the schema of these structures, as vt_kernel_schema does. */
VT_EXPORT size_t vt_window_schema(char *text, size_t room);
VT_EXPORT struct vt_window *vt_window_new(void);
VT_EXPORT void vt_window_free(struct vt_window *w);
/* Starts a window: drops all calls and events. */
VT_EXPORT void vt_window_begin(struct vt_window *w, int64_t start, int64_t stop);
/* Starts a location, whose replay has just started, or resumed before the event `first`. Returns VT_READ_OK or
   VT_READ_NO_MEMORY, like the functions below. */
VT_EXPORT int vt_window_location(struct vt_window *w, const struct vt_replay *replay, uint64_t location,
                                 uint64_t first);
/* Adds a batch that the replay has followed. */
VT_EXPORT int vt_window_batch(struct vt_window *w, const struct vt_replay *replay, const struct vt_batch *batch);
/* Ends the location: adds its calls, open ones too, in the order of their Enters. */
VT_EXPORT int vt_window_end(struct vt_window *w, struct vt_replay *replay);

#endif
