/* SPDX-License-Identifier: BSD-3-Clause */
/* The ends and times of mpi_ends.h in few bytes, since new memory costs more time than their replay: in a location, each
   column has as many bytes as its largest value needs. Rows have a fixed size, so that any row can be read.

   `widths` has the bytes of each column, 4 bits a column. Ends are in blocks with a head, the base values of their rows.
   A row is read by 8 bytes for each column, so after the last row there are VT_PACKED_SLACK bytes. */
#ifndef VT_PACKED_H
#define VT_PACKED_H

#include <string.h>
#include "mpi_ends.h"

#define VT_PACKED_ROWS 64u /* ends in a block */
#define VT_PACKED_SLACK 8u
#define VT_END_COLUMNS 9u
#define VT_END_HEAD 24u /* bytes: enter, useful and call of the first end in the block */

/* Returns the widths of columns, of each of which all values are joined by OR. */
VT_EXPORT uint64_t vt_packed_widths(const uint64_t *columns, unsigned n);
/* The bytes of n packed ends, with the slack. */
VT_EXPORT uint64_t vt_ends_bytes(uint64_t widths, uint64_t n);
VT_EXPORT void vt_ends_pack(const struct vt_mpi_end *ends, uint64_t n, uint64_t widths, unsigned char *to);
VT_EXPORT uint64_t vt_times_bytes(uint64_t widths, uint64_t n);
VT_EXPORT void vt_times_pack(const struct vt_path_time *times, uint64_t n, uint64_t widths, unsigned char *to);

static inline uint32_t vt_packed_width(uint64_t widths, unsigned column) { return widths >> 4 * column & 15; }

/* The bytes of a row. */
static inline uint32_t vt_packed_row(uint64_t widths)
{
    uint32_t sum = 0;
    for (; widths; widths >>= 4) sum += widths & 15;
    return sum;
}

static inline uint64_t vt_packed_mask(uint32_t width) { return width ? UINT64_MAX >> (64 - 8 * width) : 0; }

static inline uint64_t vt_packed_load(const unsigned char *from)
{
    uint64_t value;
    memcpy(&value, from, sizeof value);
    return value;
}

/* ---- Ends ---- */

/* Returns the columns of end `number` of a location in values. first: of the end's block. */
static inline __attribute__((always_inline)) void
vt_end_columns(const struct vt_mpi_end *end, const struct vt_mpi_end *first, uint64_t number, uint64_t *values)
{
    values[0] = (uint64_t)end->enter - (uint64_t)first->enter;
    values[1] = (uint64_t)end->leave - (uint64_t)end->enter;
    values[2] = (uint64_t)end->useful - (uint64_t)first->useful;
    values[3] = end->call - first->call;
    values[4] = end->node;
    values[5] = end->peer + 1; /* VT_NONE: 0 */
    values[6] = end->comm;
    values[7] = vt_end_is_second(end->what) ? (uint32_t)number - end->tag : end->tag;
    values[8] = (end->what & 1023) | VT_CALL_WAIT(end->what) << 10;
}

/* How to read the ends of a location. */
struct vt_end_layout {
    uint32_t row, block; /* bytes */
    uint32_t at[VT_END_COLUMNS];
    uint64_t mask[VT_END_COLUMNS];
};

static inline struct vt_end_layout vt_end_layout(uint64_t widths)
{
    struct vt_end_layout found = {.row = 0};
    for (unsigned i = 0; i < VT_END_COLUMNS; i++) {
        found.at[i] = found.row;
        found.mask[i] = vt_packed_mask(vt_packed_width(widths, i));
        found.row += vt_packed_width(widths, i);
    }
    found.block = VT_END_HEAD + VT_PACKED_ROWS * found.row;
    return found;
}

/* Reads end `number` of a location. block: the packed block with this end. */
static inline __attribute__((always_inline)) void
vt_end_unpack(const struct vt_end_layout *layout, const unsigned char *block, uint64_t number, struct vt_mpi_end *end)
{
    const unsigned char *row = block + VT_END_HEAD + number % VT_PACKED_ROWS * layout->row;
#define COLUMN(i) (vt_packed_load(row + layout->at[i]) & layout->mask[i])
    end->enter = (int64_t)(vt_packed_load(block) + COLUMN(0));
    end->leave = (int64_t)((uint64_t)end->enter + COLUMN(1));
    end->useful = (int64_t)(vt_packed_load(block + 8) + COLUMN(2));
    end->call = (uint32_t)(vt_packed_load(block + 16) + COLUMN(3));
    end->node = (uint32_t)COLUMN(4);
    end->peer = (uint32_t)COLUMN(5) - 1;
    end->comm = (uint32_t)COLUMN(6);
    end->what = (uint32_t)(COLUMN(8) & 1023) | (uint32_t)(COLUMN(8) >> 10) << 16;
    end->tag = (uint32_t)COLUMN(7);
    if (vt_end_is_second(end->what)) end->tag = (uint32_t)number - end->tag;
#undef COLUMN
}

/* ---- Times ---- */

/* Some times of a location, packed. */
struct vt_packed_times {
    const unsigned char *rows;
    uint32_t row, second; /* bytes of a row, and of its first column */
    uint64_t mask[2];
};

static inline struct vt_packed_times vt_packed_times(const unsigned char *rows, uint64_t widths)
{
    const uint32_t one = vt_packed_width(widths, 0), other = vt_packed_width(widths, 1);
    return (struct vt_packed_times){rows, one + other, one, {vt_packed_mask(one), vt_packed_mask(other)}};
}

static inline struct vt_path_time vt_packed_time(const struct vt_packed_times *t, uint64_t i)
{
    const unsigned char *row = t->rows + i * t->row;
    const uint64_t path = vt_packed_load(row + t->second) & t->mask[1];
    return (struct vt_path_time){(int64_t)(vt_packed_load(row) & t->mask[0]), (uint32_t)(path >> 1), path & 1};
}

#endif
