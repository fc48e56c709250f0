/* SPDX-License-Identifier: BSD-3-Clause */
#include "packed.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first bytes of a number are its lowest ones");
_Static_assert(VT_WAIT_ALL_KINDS <= 1 << 6, "kinds of waits and the ten bits below VT_CALL_WAIT are two bytes");

/* Writes a column of a row, and perhaps bytes after it: what follows is written later. */
static inline unsigned char *put(unsigned char *to, uint64_t value, uint32_t width)
{
    memcpy(to, &value, sizeof value);
    return to + width;
}

/* ---- Ends ---- */

uint64_t vt_packed_widths(const uint64_t *columns, unsigned n)
{
    uint64_t widths = 0;
    for (unsigned k = 0; k < n; k++)
        if (columns[k]) widths |= (71 - (unsigned)__builtin_clzll(columns[k])) / 8u * UINT64_C(1) << 4 * k;
    return widths;
}

uint64_t vt_ends_bytes(uint64_t widths, uint64_t n)
{
    const uint64_t blocks = (n + VT_PACKED_ROWS - 1) / VT_PACKED_ROWS;
    return blocks * VT_END_HEAD + n * vt_packed_row(widths) + VT_PACKED_SLACK;
}

void vt_ends_pack(const struct vt_mpi_end *ends, uint64_t n, uint64_t widths, unsigned char *to)
{
    uint32_t width[VT_END_COLUMNS];
    uint64_t values[VT_END_COLUMNS];
    for (unsigned k = 0; k < VT_END_COLUMNS; k++) width[k] = vt_packed_width(widths, k);
    for (uint64_t i = 0; i < n; i++) {
        const struct vt_mpi_end *first = &ends[i - i % VT_PACKED_ROWS];
        if (first == &ends[i]) {
            to = put(to, (uint64_t)first->enter, 8);
            to = put(to, (uint64_t)first->useful, 8);
            to = put(to, first->call, 8);
        }
        vt_end_columns(&ends[i], first, i, values);
        for (unsigned k = 0; k < VT_END_COLUMNS; k++) to = put(to, values[k], width[k]);
    }
    put(to, 0, 0);
}

/* ---- Times ---- */

static inline uint64_t path_of(const struct vt_path_time *t) { return (uint64_t)t->node << 1 | t->is_mpi; }

uint64_t vt_times_bytes(uint64_t widths, uint64_t n) { return n * vt_packed_row(widths) + VT_PACKED_SLACK; }

void vt_times_pack(const struct vt_path_time *times, uint64_t n, uint64_t widths, unsigned char *to)
{
    const uint32_t one = vt_packed_width(widths, 0), other = vt_packed_width(widths, 1);
    for (uint64_t i = 0; i < n; i++) to = put(put(to, (uint64_t)times[i].ns, one), path_of(&times[i]), other);
    put(to, 0, 0);
}
