/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations shared by the files of libvtrace-annotations.so, which an annotated program loads by the variable of its
   annotations (docs/annotations.md). Each file of an interface (nvtx.c, itt.c, kokkos.c) declares what it uses of that
   interface itself: no header of another project is needed. The library exports only what programs look up.
   names.c owns the objects to which the handles of programs point: domains, registered strings, counters. */
#ifndef VT_ANNOTATIONS_H
#define VT_ANNOTATIONS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include "../core/core.h"
#define VTRACE
#include "../include/vt_user.h"

#define VT_EXPORTED __attribute__((visibility("default")))
#define VT_UNNAMED "unnamed" /* the name of a region whose annotation has none */
#define VT_LABEL_BYTES 1024 /* of a name that is put together or converted; longer ones are cut */

/* A domain, or a name in a domain. Never freed, since a thread may use a handle after another has destroyed it. */
struct vt_named {
    struct vt_named *next; /* of the same hash value */
    struct vt_named *domain; /* NULL: this is a domain */
    uint32_t number; /* of a domain, from 1 on */
    _Atomic uint32_t region, counter, label; /* ids; label: of the text, or NVTX's group of */
    /* counters; 0: not defined yet */
    void *_Atomic handle; /* ITT's structure for it, or the name of a category; NULL: none */
    char text[];
};

/* Returns the object with this text; creates it at its first use. NULL: no memory. Any thread may call this function. */
struct vt_named *vt_named(struct vt_named *domain, const char *text);
/* Returns the region with a name in a domain, for VT_User_push__; the group is the domain's name. */
uint32_t vt_region_in(const struct vt_named *domain, const char *name);
/* Returns the region of a registered name. */
static inline uint32_t vt_region_of(struct vt_named *n)
{
    const uint32_t known = atomic_load_explicit(&n->region, memory_order_relaxed);
    if (__builtin_expect(known != 0, 1)) return known;
    const uint32_t region = vt_region_in(n->domain, n->text);
    atomic_store_explicit(&n->region, region, memory_order_relaxed);
    return region;
}
/* Returns the counter with a name in a domain. type: VT_COUNT_TYPE_... */
uint32_t vt_counter_in(const struct vt_named *domain, const char *name, int type);
/* Records a mark: a marker with the domain's name. */
void vt_mark_in(const struct vt_named *domain, const char *text);
/* Converts a text to UTF-8. Returns `into`, of VT_LABEL_BYTES. */
const char *vt_from_wide(char *into, const wchar_t *text);
/* Returns zeroed memory, which is never freed; NULL: none. */
void *vt_annotation_memory(size_t bytes);

/* Attaches the library to the runtime. name: the interface. Returns 0 if nothing is recorded. */
int vt_annotations_attach(const char *name);

/* ---- attributes.c: what an event has beside its name ---- */

enum vt_attribute_of_annotation {
    VT_ANNOTATION_COLOUR,
    VT_ANNOTATION_CATEGORY,
    VT_ANNOTATION_ID,
    VT_ANNOTATION_PARENT
};
/* Adds an attribute to words for VT_User_push_with__. Returns the number of added words. */
unsigned vt_add_attribute(uint64_t *words, enum vt_attribute_of_annotation which, uint64_t value);
/* Names a category of a domain. */
void vt_name_category(struct vt_named *domain, uint32_t number, const char *name);
/* Returns the name of a category, its number without one; NULL: no memory. */
struct vt_named *vt_category(struct vt_named *domain, uint32_t number);
/* Returns the id of a name's text, for an attribute. */
uint32_t vt_label_of(struct vt_named *n);
/* Returns the region with a name in a domain; if it is new, with the colour and category (or NULL) as description. */
uint32_t vt_region_with(const struct vt_named *domain, const char *name, const uint32_t *rgb, const char *category);

/* ---- open_ranges.c ---- */

/* Ranges that the program ends by an id, which is unique in its owner. */
struct vt_range_id {
    uint64_t owner, part[3];
};
/* attributes: as of VT_User_range_start_with__. */
void vt_range_open(struct vt_range_id id, uint32_t region, const uint64_t *attributes, unsigned words);
/* Returns 0 if no such range is open. */
int vt_range_close(struct vt_range_id id);

#endif
