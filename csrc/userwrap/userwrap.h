/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations shared by the files of the user API (include/vt_user.h).

   names.c owns the table of the names that the program has defined. This folder is a part of libvtrace.so.1 and uses
   headers of core only. Its entry points keep the names of VampirTrace. The entry points take no lock and do not call
   malloc, so any thread and any signal handler may call them; python.c is the exception, which the interpreter
   calls. */
#ifndef VT_USERWRAP_H
#define VT_USERWRAP_H

#include "../core/process.h"

#define VT_PUBLIC __attribute__((visibility("default")))

/* The number of a region that a filter excludes. If a filter limits the number of calls, the number has this bit and
   the number of the limit. */
#define VT_USER_HIDDEN 0x80000000u

/* Returns 1 if vtrace has given such an id in this process. Larger ones would overflow into other bits of a record. */
static inline int vt_user_is_defined(enum vt_id kind, uint32_t id)
{
    return id <= VT_ID_MAX && id <= atomic_load_explicit(&vt_process.ids[kind], memory_order_relaxed);
}

/* Says that the program uses an id that it has not defined. classes: those of the events that are not recorded, as for
   vt_warn_left_out; what: a literal, the kind of the id. */
#define VT_USER_UNDEFINED(classes, what, id)                                                                           \
    vt_warn_left_out(classes, "the program uses id %u, which no " what " has: such calls are not recorded", id)

/* Returns the number of the limit of a region's id; 0: the region is not recorded. */
static inline uint32_t vt_user_limit_of(uint32_t id)
{
    uint32_t number = id & ~VT_USER_HIDDEN;
    if (id == VT_USER_HIDDEN || (id & VT_USER_HIDDEN && vt_limited_is_given(number))) return number;
    VT_USER_UNDEFINED("user", "region", id);
    return 0;
}

/* The region with which a call is recorded; 0 if the call is not recorded. */
static inline uint32_t vt_user_begins(uint32_t id)
{
    if (VT_LIKELY(vt_user_is_defined(VT_ID_REGION, id))) return id;
    uint32_t number = vt_user_limit_of(id), region = number ? vt_limited_begin(number) : 0;
    if (number && !region) vt_limited_leave_out(vt_location_of_thread(0), number);
    return region;
}

static inline uint32_t vt_user_ends(uint32_t id)
{
    if (VT_LIKELY(vt_user_is_defined(VT_ID_REGION, id))) return id;
    uint32_t number = vt_user_limit_of(id);
    return number ? vt_limited_end(number) : 0;
}

/* Returns the number of a region whose calls a filter limits. */
static inline uint32_t vt_user_limited(uint32_t region, int64_t limit)
{
    uint32_t number = limit > 0 && region ? vt_limited_new(region, limit) : 0;
    return number ? number | VT_USER_HIDDEN : region;
}

/* Kinds of names. A kind, a number and up to three texts identify a name. */
enum vt_user_kind {
    /* clang-format off */
    VT_USER_REGION, VT_USER_DEFINED, VT_USER_GROUP, VT_USER_COUNTER, VT_USER_MARKER, VT_USER_COMM, VT_USER_TEXT,
    VT_USER_SECTION,
    /* clang-format on */
};

struct vt_user_key {
    uint32_t kind, number;
    const char *text[3]; /* NULL means "" */
    const char *file; /* used by define only, as the next two; not part of the identity */
    uint32_t line;
    uintptr_t code; /* if not 0, replaces file and line */
    const char *description; /* NULL: none; used by define only */
};

/* Returns the id of a name; 0 if it cannot be defined. The first call for a name calls define. Takes no lock and calls
   no malloc. Several threads may call define at the same time; one of their ids is kept. */
uint32_t vt_user_id(const struct vt_user_key *key, uint32_t (*define)(const struct vt_user_key *key));

/* Adds a region or metric to a group that the program defines. */
void vt_user_join(enum vt_definition what, uint32_t id, const char *group);

/* user_regions.c, for Fortran: the number of a region, by the address of the code that begins or defines the region.
   group: NULL for VT_USER_START. */
unsigned int VT_User_region_at__(const char *name, const char *group, const void *code);

/* user_regions.c, values.c: entry points of the program; id 0 is ignored. */
void VT_User_start2__(unsigned int id);
void VT_User_end2__(unsigned int id);
unsigned int VT_User_section__(const char *name, int number, int level, unsigned int *site);
void VT_User_count_signed_val__(unsigned int id, int64_t value);
void VT_User_count_double_val__(unsigned int id, double value);

#endif
