/* SPDX-License-Identifier: BSD-3-Clause */
/* Kokkos Tools: callbacks that Kokkos looks up in the library of KOKKOS_TOOLS_LIBS or KOKKOS_PROFILE_LIBRARY. Their
   declarations are those of kp_core.hpp (github.com/kokkos/kokkos-tools) and Kokkos_Profiling_C_Interface.h. A callback
   gets names of at most 64 bytes by value, on the stack. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "annotations.h"

struct space { /* Kokkos_Profiling_SpaceHandle */
    char name[64];
};

static struct vt_named *kokkos(void)
{
    static struct vt_named *_Atomic known;
    struct vt_named *d = atomic_load_explicit(&known, memory_order_relaxed);
    if (!d && (d = vt_named(NULL, "Kokkos"))) atomic_store(&known, d);
    return d;
}

static _Atomic int records;

static void begin(const char *name)
{
    struct vt_named *domain = atomic_load_explicit(&records, memory_order_relaxed) ? kokkos() : NULL;
    if (domain) VT_User_push__(domain->number, vt_region_in(domain, name));
}

static void end(void)
{
    struct vt_named *domain = atomic_load_explicit(&records, memory_order_relaxed) ? kokkos() : NULL;
    if (domain) VT_User_pop__(domain->number);
}

VT_EXPORTED void kokkosp_init_library(int sequence, uint64_t version, uint32_t devices, void *info)
{
    (void)sequence, (void)version, (void)devices, (void)info;
    atomic_store(&records, vt_annotations_attach("Kokkos"));
}

VT_EXPORTED void kokkosp_finalize_library(void) {}

/* Kokkos need not wait for devices at each callback. */
VT_EXPORTED void kokkosp_request_tool_settings(uint32_t n, bool *requires_global_fencing)
{
    if (n) *requires_global_fencing = false;
}

/* ---- Kernels, fences, copies, regions ---- */

#define KERNEL(kind)                                                                                                   \
    VT_EXPORTED void kokkosp_begin_##kind(const char *name, uint32_t device, uint64_t *number)                         \
    {                                                                                                                  \
        (void)device;                                                                                                  \
        *number = 0;                                                                                                   \
        begin(name);                                                                                                   \
    }                                                                                                                  \
    VT_EXPORTED void kokkosp_end_##kind(uint64_t number)                                                               \
    {                                                                                                                  \
        (void)number;                                                                                                  \
        end();                                                                                                         \
    }
KERNEL(parallel_for)
KERNEL(parallel_reduce)
KERNEL(parallel_scan)
KERNEL(fence)

VT_EXPORTED void kokkosp_push_profile_region(const char *name) { begin(name); }
VT_EXPORTED void kokkosp_pop_profile_region(void) { end(); }

VT_EXPORTED void kokkosp_begin_deep_copy(struct space to, const char *to_name, const void *to_address,
                                         struct space from, const char *from_name, const void *from_address,
                                         uint64_t bytes)
{
    char name[160];
    (void)to_name, (void)to_address, (void)from_name, (void)from_address;
    snprintf(name, sizeof name, "deep_copy %.63s to %.63s", from.name, to.name);
    begin(name);
    if (atomic_load(&records))
        VT_User_count_unsigned_val__(vt_counter_in(kokkos(), name, VT_COUNT_TYPE_UNSIGNED), bytes);
}
VT_EXPORTED void kokkosp_end_deep_copy(void) { end(); }

VT_EXPORTED void kokkosp_profile_event(const char *name)
{
    if (atomic_load(&records)) vt_mark_in(kokkos(), name);
}

/* ---- Sections: they may overlap, and any thread may stop them ---- */

static _Atomic uint32_t sections;

/* The name of a section, found by its number. */
static struct vt_named *section(uint32_t number)
{
    char text[40];
    snprintf(text, sizeof text, "section %u", number);
    return vt_named(kokkos(), text);
}

static struct vt_range_id section_id(uint32_t number) { return (struct vt_range_id){(uintptr_t)&sections, {number}}; }

VT_EXPORTED void kokkosp_create_profile_section(const char *name, uint32_t *number)
{
    *number = atomic_fetch_add(&sections, 1) + 1;
    struct vt_named *n = atomic_load(&records) ? section(*number) : NULL;
    if (n) atomic_store(&n->region, vt_region_in(kokkos(), name));
}
VT_EXPORTED void kokkosp_destroy_profile_section(uint32_t number) { (void)number; }
VT_EXPORTED void kokkosp_start_profile_section(uint32_t number)
{
    struct vt_named *n = atomic_load(&records) ? section(number) : NULL;
    const uint32_t region = n ? atomic_load(&n->region) : 0;
    if (region) vt_range_open(section_id(number), region, NULL, 0);
}
VT_EXPORTED void kokkosp_stop_profile_section(uint32_t number)
{
    if (atomic_load(&records)) vt_range_close(section_id(number));
}

/* ---- Memory: a counter of the bytes in each space ---- */

#define SPACES 32
static struct {
    struct vt_named *_Atomic name;
    _Atomic int64_t bytes;
} spaces[SPACES];

static void change(const struct space *space, int64_t bytes)
{
    char text[80];
    snprintf(text, sizeof text, "%.63s bytes", space->name);
    struct vt_named *n = atomic_load(&records) ? vt_named(kokkos(), text) : NULL;
    for (int i = 0; i < SPACES && n; i++) {
        struct vt_named *is = atomic_load(&spaces[i].name);
        if (!is && atomic_compare_exchange_strong(&spaces[i].name, &is, n)) is = n;
        if (is != n) continue;
        const int64_t now = atomic_fetch_add(&spaces[i].bytes, bytes) + bytes;
        VT_User_count_signed_val__(vt_counter_in(kokkos(), text, VT_COUNT_TYPE_SIGNED), now);
        return;
    }
}

VT_EXPORTED void kokkosp_allocate_data(struct space space, const char *label, const void *address, uint64_t bytes)
{
    (void)label, (void)address;
    change(&space, (int64_t)bytes);
}
VT_EXPORTED void kokkosp_deallocate_data(struct space space, const char *label, const void *address, uint64_t bytes)
{
    (void)label, (void)address;
    change(&space, -(int64_t)bytes);
}
