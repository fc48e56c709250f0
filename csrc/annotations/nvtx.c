/* SPDX-License-Identifier: BSD-3-Clause */
/* NVTX 3 and 2: an injection library, which a program loads by NVTX_INJECTION64_PATH at its first call of NVTX, once in
   each library that contains NVTX. The layouts and numbers are those of nvtx3/nvToolsExt.h and
   nvtx3/nvtxDetail/nvtxTypes.h, which NVIDIA keeps compatible; tests/programs/nvtx_layouts.c compares them.
   Results are those of a program without a tool where NVTX allows that. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>
#include "nvtx.h"

/* Where a program has no domain of its own. */
static struct vt_named *plain(void)
{
    static struct vt_named *_Atomic known;
    struct vt_named *d = atomic_load_explicit(&known, memory_order_relaxed);
    if (!d && (d = vt_named(NULL, "NVTX"))) atomic_store(&known, d);
    return d;
}

struct vt_named *vt_nvtx_domain(struct vt_named *handle) { return handle ? handle : plain(); }

/* ---- The message and the payload of an event ---- */

static struct vt_named *registered(const struct nvtx_event *e)
{
    return e && e->message_type == NVTX_REGISTERED ? e->message : NULL;
}

const char *vt_nvtx_text(const struct nvtx_event *e, char *room)
{
    if (!e || !e->message) return VT_UNNAMED;
    if (e->message_type == NVTX_ASCII) return e->message;
    if (e->message_type == NVTX_UNICODE) return vt_from_wide(room, e->message);
    return e->message_type == NVTX_REGISTERED ? ((const struct vt_named *)e->message)->text : VT_UNNAMED;
}

/* Not inlined, so that the path of a registered string needs no stack for a name. */
__attribute__((noinline)) static uint32_t region_of(const struct vt_named *domain, const struct nvtx_event *e)
{
    char room[VT_LABEL_BYTES];
    return vt_region_in(domain, vt_nvtx_text(e, room));
}

__attribute__((noinline)) static void record_payload(struct vt_named *domain, const struct nvtx_event *e)
{
    char room[VT_LABEL_BYTES];
    const char *name = vt_nvtx_text(e, room);
    switch (e->payload_type) {
    case NVTX_UINT64:
        VT_User_count_unsigned_val__(vt_counter_in(domain, name, VT_COUNT_TYPE_UNSIGNED), e->payload.u64);
        break;
    case NVTX_DATA:
        vt_nvtx_record_data(domain, name, (const struct nvtx_data *)(uintptr_t)e->payload.u64, (uint32_t)e->reserved);
        break;
    case NVTX_UINT32:
        VT_User_count_unsigned_val__(vt_counter_in(domain, name, VT_COUNT_TYPE_UNSIGNED), e->payload.u32);
        break;
    case NVTX_INT64:
        VT_User_count_signed_val__(vt_counter_in(domain, name, VT_COUNT_TYPE_SIGNED), e->payload.i64);
        break;
    case NVTX_INT32:
        VT_User_count_signed_val__(vt_counter_in(domain, name, VT_COUNT_TYPE_SIGNED), e->payload.i32);
        break;
    case NVTX_DOUBLE:
        VT_User_count_double_val__(vt_counter_in(domain, name, VT_COUNT_TYPE_DOUBLE), e->payload.f64);
        break;
    case NVTX_FLOAT:
        VT_User_count_double_val__(vt_counter_in(domain, name, VT_COUNT_TYPE_DOUBLE), (double)e->payload.f32);
        break;
    }
}

/* ---- Colour and category ---- */

static int is_plain(const struct nvtx_event *e) { return !e || (e->color_type != NVTX_ARGB && !e->category); }

/* Adds the attributes of an event, and stores the region. Returns the number of words. */
__attribute__((noinline)) static unsigned attributes(struct vt_named *domain, const struct nvtx_event *e,
                                                     uint64_t *words, uint32_t *region)
{
    char room[VT_LABEL_BYTES];
    const uint32_t rgb = e->color & 0xffffff;
    const int has_colour = e->color_type == NVTX_ARGB;
    struct vt_named *name = registered(e), *category = e->category ? vt_category(domain, e->category) : NULL;
    unsigned n = 0;
    *region = name ? atomic_load_explicit(&name->region, memory_order_relaxed) : 0;
    if (!*region) {
        *region =
            vt_region_with(domain, vt_nvtx_text(e, room), has_colour ? &rgb : NULL, category ? category->text : NULL);
        if (name) atomic_store_explicit(&name->region, *region, memory_order_relaxed);
    }
    if (has_colour) n += vt_add_attribute(words, VT_ANNOTATION_COLOUR, rgb);
    if (category) n += vt_add_attribute(&words[n], VT_ANNOTATION_CATEGORY, vt_label_of(category));
    return n;
}

/* ---- With a domain (NVTX's module CORE2) ---- */

int vt_nvtx_push(struct vt_named *handle, const struct nvtx_event *e)
{
    struct vt_named *domain = vt_nvtx_domain(handle), *name = registered(e);
    if (!domain) return NVTX_UNTRACKED;
    if (is_plain(e)) VT_User_push__(domain->number, name ? vt_region_of(name) : region_of(domain, e));
    else {
        uint64_t words[VT_ATTRIBUTE_WORDS];
        uint32_t region;
        const unsigned n = attributes(domain, e, words, &region);
        VT_User_push_with__(domain->number, region, words, n);
    }
    if (e && e->payload_type) record_payload(domain, e);
    return NVTX_UNTRACKED;
}

static int pop(struct vt_named *handle)
{
    struct vt_named *domain = vt_nvtx_domain(handle);
    if (domain) VT_User_pop__(domain->number);
    return NVTX_UNTRACKED;
}

uint64_t vt_nvtx_start(struct vt_named *handle, const struct nvtx_event *e)
{
    struct vt_named *domain = vt_nvtx_domain(handle), *name = registered(e);
    if (!domain) return 0;
    if (e && e->payload_type) record_payload(domain, e);
    if (is_plain(e)) return VT_User_range_start__(name ? vt_region_of(name) : region_of(domain, e));
    uint64_t words[VT_ATTRIBUTE_WORDS];
    uint32_t region;
    const unsigned n = attributes(domain, e, words, &region);
    return VT_User_range_start_with__(region, words, n);
}

static void end(struct vt_named *handle, uint64_t range)
{
    (void)handle;
    VT_User_range_end__(range);
}

void vt_nvtx_mark(struct vt_named *handle, const struct nvtx_event *e)
{
    char room[VT_LABEL_BYTES];
    struct vt_named *domain = vt_nvtx_domain(handle);
    if (!domain) return;
    vt_mark_in(domain, vt_nvtx_text(e, room));
    if (e && e->payload_type) record_payload(domain, e);
}

static struct vt_named *create_domain(const char *name) { return vt_named(NULL, name); }

static struct vt_named *create_domain_wide(const wchar_t *name)
{
    char room[VT_LABEL_BYTES];
    return vt_named(NULL, vt_from_wide(room, name));
}

static struct vt_named *register_string(struct vt_named *handle, const char *text)
{
    struct vt_named *domain = vt_nvtx_domain(handle);
    return domain ? vt_named(domain, text) : NULL;
}

static struct vt_named *register_wide(struct vt_named *handle, const wchar_t *text)
{
    char room[VT_LABEL_BYTES];
    return register_string(handle, vt_from_wide(room, text));
}

static void name_category(struct vt_named *handle, uint32_t category, const char *name)
{
    vt_name_category(vt_nvtx_domain(handle), category, name);
}

static void name_category_wide(struct vt_named *handle, uint32_t category, const wchar_t *name)
{
    char room[VT_LABEL_BYTES];
    name_category(handle, category, vt_from_wide(room, name));
}

/* ---- Without a domain (NVTX's module CORE) ---- */

static void mark_event(const struct nvtx_event *e) { vt_nvtx_mark(NULL, e); }
static uint64_t start_event(const struct nvtx_event *e) { return vt_nvtx_start(NULL, e); }
static void end_range(uint64_t range) { VT_User_range_end__(range); }
static int push_event(const struct nvtx_event *e) { return vt_nvtx_push(NULL, e); }
static int pop_event(void) { return pop(NULL); }

static struct nvtx_event ascii(const char *text)
{
    return (struct nvtx_event){.message_type = NVTX_ASCII, .message = (void *)(uintptr_t)text};
}
static struct nvtx_event wide(const wchar_t *text)
{
    return (struct nvtx_event){.message_type = NVTX_UNICODE, .message = (void *)(uintptr_t)text};
}

static void mark_ascii(const char *text)
{
    const struct nvtx_event e = ascii(text);
    vt_nvtx_mark(NULL, &e);
}
static void mark_wide(const wchar_t *text)
{
    const struct nvtx_event e = wide(text);
    vt_nvtx_mark(NULL, &e);
}
static uint64_t start_ascii(const char *text)
{
    const struct nvtx_event e = ascii(text);
    return vt_nvtx_start(NULL, &e);
}
static uint64_t start_wide(const wchar_t *text)
{
    const struct nvtx_event e = wide(text);
    return vt_nvtx_start(NULL, &e);
}
static int push_ascii(const char *text)
{
    const struct nvtx_event e = ascii(text);
    return vt_nvtx_push(NULL, &e);
}
static int push_wide(const wchar_t *text)
{
    const struct nvtx_event e = wide(text);
    return vt_nvtx_push(NULL, &e);
}

static void name_plain_category(uint32_t category, const char *name) { name_category(NULL, category, name); }
static void name_plain_category_wide(uint32_t category, const wchar_t *name)
{
    name_category_wide(NULL, category, name);
}

static void name_thread(uint32_t thread, const char *name) { vt_name_thread(thread, name); }
static void name_thread_wide(uint32_t thread, const wchar_t *name)
{
    char room[VT_LABEL_BYTES];
    vt_name_thread(thread, vt_from_wide(room, name));
}

/* ---- Loading ---- */

typedef void function(void);

struct callbacks {
    size_t bytes;
    int (*get)(int module, function ***table, unsigned *n);
};

struct entry {
    unsigned id; /* NVTX_CBID_CORE_... or NVTX_CBID_CORE2_... */
    function *call;
};

/* clang-format off */
#define CALL(id, name) {id, (function *)(name)}
static const struct entry core[] = {
    CALL(1, mark_event), CALL(2, mark_ascii), CALL(3, mark_wide), CALL(4, start_event), CALL(5, start_ascii),
    CALL(6, start_wide), CALL(7, end_range), CALL(8, push_event), CALL(9, push_ascii), CALL(10, push_wide),
    CALL(11, pop_event), CALL(12, name_plain_category), CALL(13, name_plain_category_wide), CALL(14, name_thread),
    CALL(15, name_thread_wide), {0, NULL},
};
static const struct entry core2[] = {
    CALL(1, vt_nvtx_mark), CALL(2, vt_nvtx_start), CALL(3, end), CALL(4, vt_nvtx_push), CALL(5, pop),
    CALL(8, name_category), CALL(9, name_category_wide), CALL(10, register_string), CALL(11, register_wide),
    CALL(12, create_domain), CALL(13, create_domain_wide), {0, NULL},
};
/* clang-format on */

/* Sets the entries that the program's version of NVTX has. Entry 0 is not used. */
static void set(const struct callbacks *c, int module, const struct entry *entries)
{
    function **table;
    unsigned n;
    if (!c->get(module, &table, &n)) return;
    for (const struct entry *e = entries; e->id; e++)
        if (e->id < n && table[e->id]) *(function **)(void *)table[e->id] = e->call;
}

/* Returns 0 if the program's calls are not to be seen. */
VT_EXPORTED int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t))
{
    const struct callbacks *c = export_table(1); /* NVTX_ETID_CALLBACKS */
    if (!c || c->bytes < sizeof *c || !vt_annotations_attach("NVTX")) return 0;
    set(c, 1, core); /* NVTX_CB_MODULE_CORE */
    set(c, 5, core2); /* NVTX_CB_MODULE_CORE2 */
    return 1;
}
