/* SPDX-License-Identifier: BSD-3-Clause */
/* Data of other tools: lines of text become columns (external_lines.c); intervals that may overlap become calls that
   nest, on lanes (lanes.c). Python (src/vtrace/transform) owns all memory but the table of names. */
#ifndef VT_EXTERNAL_LINES_H
#define VT_EXTERNAL_LINES_H

#include "../otf2_reader/readback.h"

/* The use of a column. VALUES: there may be several of these. */
enum { VT_FIELD_NAME, VT_FIELD_BEGIN, VT_FIELD_END, VT_FIELD_VALUE, VT_FIELD_PID, VT_FIELD_TID };

/* The lines below the head of a comma-separated table. rows: on entry the number of rows for which there is room in the
   columns. */
struct vt_external_lines {
    const uint8_t *text, *uses; /* the whole file; the use of each column */
    int64_t *begin, *end; /* times: numbers, or ns since the epoch */
    uint32_t *name; /* number of the name, in the order of their first lines */
    int64_t *pid, *tid; /* -1: none */
    int64_t *integers; /* nvalues of each row */
    double *reals; /* the same values as reals */
    uint64_t *name_at, *name_size; /* place of each name in the text, with its quotes */
    uint8_t *is_real; /* nvalues: 1 for columns with values that are no whole numbers of 64 bits */
    uint64_t size, columns, nvalues, dates; /* dates: 1 if times are dates in UTC */
    uint64_t at, line, rows, names; /* at: offset of the first line; line: its number */
    uint64_t column; /* of the fault: number of its character in the line, from 1 on */
    char fault[96]; /* the reason why the line is refused; empty: all is well */
};

/* Fills the columns. Returns 0 for a line that is refused, whose number is `line`; no memory: fault is "memory". */
VT_EXPORT int vt_external_read(struct vt_external_lines *lines);

/* Gives each interval the first lane on which it nests. The intervals are ordered by start; of those with equal starts
   the longest is first. Returns the number of lanes; UINT64_MAX: more than most, or no memory. */
VT_EXPORT uint64_t vt_lanes(const int64_t *begin, const int64_t *end, uint32_t *lane, uint64_t n, uint64_t most);
VT_EXPORT int vt_lanes_find(const char *library, char *text, size_t size);
/* Writes the intervals of one lane, in the order of vt_lanes, with an OTF2_EvtWriter. refs: regions, or with contexts
   calling contexts. values: for each attribute of Enter, its value for each interval; 0: none. Return OTF2's error code;
   -1: no memory. */
VT_EXPORT int32_t vt_write_calls(void *writer, const int64_t *begin, const int64_t *end, const uint32_t *refs,
                                 uint64_t n, int contexts, const uint64_t *const *values, const uint32_t *attributes,
                                 uint32_t nattributes);
/* Writes values of a metric class in the order of time. values: count of each moment, as bits of types. */
VT_EXPORT int32_t vt_write_values(void *writer, const int64_t *times, const uint64_t *values, const uint8_t *types,
                                  uint64_t n, uint32_t count, uint32_t metric);

#endif
