/* SPDX-License-Identifier: BSD-3-Clause */
/* A table of numbers (not 0) by pairs of numbers: open addressing without tombstones. */
#ifndef VT_PAIR_TABLE_H
#define VT_PAIR_TABLE_H

#include <stdint.h>

struct vt_pair_table {
    struct vt_entry {
        uint64_t a, b, value; /* value 0: free */
    } *entries;
    uint64_t count, size; /* size: a power of two */
};

uint64_t vt_pair_table_get(const struct vt_pair_table *t, uint64_t a, uint64_t b); /* 0: no such pair */
/* Returns the pair's number, to be changed in place; NULL: no such pair. */
uint64_t *vt_pair_table_find(const struct vt_pair_table *t, uint64_t a, uint64_t b);
int vt_pair_table_set(struct vt_pair_table *t, uint64_t a, uint64_t b, uint64_t value); /* 0: no memory */
void vt_pair_table_drop(struct vt_pair_table *t, uint64_t a, uint64_t b);
void vt_pair_table_free(struct vt_pair_table *t);

#endif
