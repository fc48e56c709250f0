/* SPDX-License-Identifier: BSD-3-Clause */
/* Intervals that may overlap become calls that nest: each lane has the stack of the intervals that are open. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include "../otf2_writer/containers.h"
#include "external_lines.h"

struct lane_stack {
    int64_t *ends; /* ends of the open intervals, outermost first */
    uint64_t depth, room;
};

static struct {
    OTF2_AttributeList *(*list)(void);
    int32_t (*free_list)(OTF2_AttributeList *);
    int32_t (*add)(OTF2_AttributeList *, uint32_t, uint64_t);
#define WRITER(name) int32_t (*name)(void *, OTF2_AttributeList *, uint64_t VT_E_##name(VT_PARAMETER));
    WRITER(Enter) WRITER(Leave) WRITER(CallingContextEnter) WRITER(CallingContextLeave) WRITER(Metric)
} otf2;

VT_EXPORT int vt_lanes_find(const char *path, char *text, size_t size)
{
    void *library = dlopen(path, RTLD_NOW);
    int fine = library && VT_FIND(otf2.Enter, "EvtWriter_Enter") && VT_FIND(otf2.Leave, "EvtWriter_Leave") &&
               VT_FIND(otf2.CallingContextEnter, "EvtWriter_CallingContextEnter") &&
               VT_FIND(otf2.CallingContextLeave, "EvtWriter_CallingContextLeave") &&
               VT_FIND(otf2.Metric, "EvtWriter_Metric") && VT_FIND(otf2.list, "AttributeList_New") &&
               VT_FIND(otf2.free_list, "AttributeList_Delete") && VT_FIND(otf2.add, "AttributeList_AddUint64");
    if (!fine) snprintf(text, size, "%s cannot write events", path);
    return !fine;
}

/* Returns 0 if there is no memory. */
static int push(struct lane_stack *lane, int64_t end)
{
    if (!VT_ROOM(lane->ends, lane->depth + 1, &lane->room)) return 0;
    lane->ends[lane->depth++] = end;
    return 1;
}

VT_EXPORT uint64_t vt_lanes(const int64_t *begin, const int64_t *end, uint32_t *lane, uint64_t n, uint64_t most)
{
    struct lane_stack *lanes = calloc(most + 1, sizeof *lanes);
    uint64_t used = 0;
    int fine = lanes != NULL;
    for (uint64_t i = 0; i < n && fine; i++) {
        uint64_t at = 0;
        for (; at < used; at++) {
            struct lane_stack *one = &lanes[at];
            while (one->depth && one->ends[one->depth - 1] <= begin[i]) one->depth--;
            if (!one->depth || one->ends[one->depth - 1] >= end[i]) break;
        }
        fine = at < most && push(&lanes[at], end[i]);
        used += at == used;
        lane[i] = (uint32_t)at;
    }
    for (uint64_t i = 0; lanes && i <= most; i++) free(lanes[i].ends);
    free(lanes);
    return fine ? used : UINT64_MAX;
}

static int32_t enter(void *writer, OTF2_AttributeList *list, int64_t time, uint32_t ref, int contexts)
{
    return contexts ? otf2.CallingContextEnter(writer, list, (uint64_t)time, ref, 1)
                    : otf2.Enter(writer, list, (uint64_t)time, ref);
}

static int32_t leave(void *writer, int64_t time, uint32_t ref, int contexts)
{
    return contexts ? otf2.CallingContextLeave(writer, NULL, (uint64_t)time, ref)
                    : otf2.Leave(writer, NULL, (uint64_t)time, ref);
}

VT_EXPORT int32_t vt_write_calls(void *writer, const int64_t *begin, const int64_t *end, const uint32_t *refs,
                                 uint64_t n, int contexts, const uint64_t *const *values, const uint32_t *attributes,
                                 uint32_t nattributes)
{
    uint64_t *open = malloc((n + 1) * sizeof *open), depth = 0;
    OTF2_AttributeList *list = nattributes ? otf2.list() : NULL;
    int32_t code = open && (list || !nattributes) ? 0 : -1;
    for (uint64_t i = 0; i <= n && !code; i++) {
        for (; depth && !code && (i == n || end[open[depth - 1]] <= begin[i]); depth--)
            code = leave(writer, end[open[depth - 1]], refs[open[depth - 1]], contexts);
        if (i == n || code) break;
        for (uint32_t a = 0; a < nattributes && !code; a++) /* the writer empties the list */
            if (values[a][i]) code = otf2.add(list, attributes[a], values[a][i]);
        if (!code) code = enter(writer, list, begin[i], refs[i], contexts);
        open[depth++] = i;
    }
    if (list) otf2.free_list(list);
    free(open);
    return code;
}

VT_EXPORT int32_t vt_write_values(void *writer, const int64_t *times, const uint64_t *values, const uint8_t *types,
                                  uint64_t n, uint32_t count, uint32_t metric)
{
    int32_t code = 0;
    for (uint64_t i = 0; i < n && !code; i++)
        code = otf2.Metric(writer, NULL, (uint64_t)times[i], metric, (uint8_t)count, types,
                           (const union OTF2_MetricValue_union *)(values + i * count));
    return code;
}
