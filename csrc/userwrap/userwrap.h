/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the user API share. */
#ifndef VT_USERWRAP_H
#define VT_USERWRAP_H

#include "../core/record.h"

#define VT_PUBLIC __attribute__((visibility("default")))

/* The number of a region that a filter hides: it is known, and nothing is recorded. Of one with a limit: that of its count,
   with this bit. */
#define VT_USER_HIDDEN 0x80000000u
#define VT_USER_IS_SHOWN(id) ((int32_t)(id) > 0)

/* The region of a number that a call is recorded with; 0: it is not. */
static inline uint32_t vt_user_begins(uint32_t id)
{
    if (VT_LIKELY(VT_USER_IS_SHOWN(id))) return id;
    return id & ~VT_USER_HIDDEN ? vt_limited_begin(id & ~VT_USER_HIDDEN) : 0;
}

static inline uint32_t vt_user_ends(uint32_t id)
{
    if (VT_LIKELY(VT_USER_IS_SHOWN(id))) return id;
    return id & ~VT_USER_HIDDEN ? vt_limited_end(id & ~VT_USER_HIDDEN) : 0;
}

/* The number of a region whose calls a filter limits. */
static inline uint32_t vt_user_limited(uint32_t region, int64_t limit)
{
    uint32_t number = limit > 0 && region ? vt_limited_new(region, limit) : 0;
    return number ? number | VT_USER_HIDDEN : region;
}

/* What the program names: a kind, a number and up to three texts make it one. */
enum vt_user_kind {
    /* clang-format off */
    VT_USER_REGION, VT_USER_DEFINED, VT_USER_GROUP, VT_USER_COUNTER, VT_USER_MARKER, VT_USER_COMM, VT_USER_TEXT,
    /* clang-format on */
};

struct vt_user_key {
    uint32_t kind, number;
    const char *text[3]; /* NULL stands for "" */
    const char *file; /* for define, as the next two: no part of what makes it one */
    uint32_t line;
    uintptr_t code; /* instead of them where not 0 */
};

/* The id of what is named so, by define the first time; 0 where it cannot be defined. No lock, no malloc: may be called
   by any thread and in signal handlers; define may be called by several threads at once, of which one's id is kept. */
uint32_t vt_user_id(const struct vt_user_key *key, uint32_t (*define)(const struct vt_user_key *key));

/* Puts a region or metric into a group of the program's. */
void vt_user_join(enum vt_definition what, uint32_t id, const char *group);

/* regions.c, for Fortran: a region by the address of the code that begins or defines it. group: NULL for VT_USER_START. */
unsigned int VT_User_region_at__(const char *name, const char *group, const void *code);

/* regions.c, values.c: the program's own calls; 0 does nothing. */
void VT_User_start2__(unsigned int id);
void VT_User_end2__(unsigned int id);
void VT_User_count_signed_val__(unsigned int id, int64_t value);
void VT_User_count_double_val__(unsigned int id, double value);

#endif
