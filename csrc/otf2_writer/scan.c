/* SPDX-License-Identifier: BSD-3-Clause */
/* The first pass over a location: finds the functions, regions, communicators and I/O handles that its records name. */
#include <stdlib.h>
#include "containers.h"
#include "contexts.h"

struct set { /* a set of numbers below 2^64 - 1; a slot holds number + 1 */
    uint64_t *slots, count, size;
};

struct scanner {
    struct set functions, addresses, regions, comms, handles;
    uint64_t *messages, nmessages;
    uint64_t ticks, memory, threads;
};

static inline uint64_t slot_of(uint64_t key, uint64_t size) { return key * 0x9e3779b97f4a7c15u >> 20 & (size - 1); }

static int grow(struct set *s)
{
    struct set larger = {NULL, s->count, s->size ? s->size * 4 : 1024};
    larger.slots = calloc(larger.size, sizeof *larger.slots);
    if (!larger.slots) return 0;
    for (uint64_t i = 0; i < s->size; i++) {
        if (!s->slots[i]) continue;
        uint64_t at = slot_of(s->slots[i], larger.size);
        while (larger.slots[at]) at = (at + 1) & (larger.size - 1);
        larger.slots[at] = s->slots[i];
    }
    free(s->slots);
    *s = larger;
    return 1;
}

static inline int add(struct set *s, uint64_t number)
{
    uint64_t key = number + 1;
    if (!key) return 1; /* no address; stays unmapped */
    if (s->count * 2 >= s->size && !grow(s)) return 0;
    uint64_t at = slot_of(key, s->size);
    for (; s->slots[at]; at = (at + 1) & (s->size - 1))
        if (s->slots[at] == key) return 1;
    s->slots[at] = key;
    s->count++;
    return 1;
}

static int add_message(struct scanner *f, const uint64_t *words, uint32_t what)
{
    if (!vt_grow_for_next((void **)&f->messages, 3 * sizeof *f->messages, f->nmessages)) return 0;
    uint64_t *at = f->messages + 3 * f->nmessages++;
    at[0] = f->ticks;
    at[1] = VT_ID(what) | (uint64_t)(VT_KIND(what) == VT_K_USER_RECV) << 32;
    at[2] = words[1];
    return 1;
}

static const struct {
    uint8_t reference, is_thread;
    uint16_t classes;
} kinds[128] = {
#define KIND(name, number, words, class, id, stack, role, handler, ...)                                                \
    [number] = {VT_REFERS_TO_##id, VT_HANDLER_##handler == VT_HANDLER_thread, VT_CLASS_##class},
    VT_KINDS(KIND)
#undef KIND
};

static int add_record(struct scanner *f, const uint64_t *words, uint32_t what)
{
    const uint32_t kind = VT_KIND(what), classes = kinds[kind].classes, id = VT_ID(what);
    if (classes & VT_CLASS_MEMORY) f->memory = 1;
    if (kinds[kind].is_thread) f->threads = 1;
    if (classes == VT_CLASS_ADDRESS) return add(&f->addresses, words[1]);
    if (kind == VT_K_TIME) f->ticks += words[1];
    switch (kinds[kind].reference) {
    case VT_REFERS_TO_region: return add(&f->regions, id);
    case VT_REFERS_TO_comm: return add(&f->comms, id);
    case VT_REFERS_TO_user_comm: return add_message(f, words, what);
    case VT_REFERS_TO_handle: break;
    default: return 1; /* other objects are not kept */
    }
    if (kind == VT_K_IO_DUPLICATE && !add(&f->handles, (uint32_t)words[1])) return 0;
    return add(&f->handles, id);
}

static int add_records(struct scanner *f, const uint64_t *words, uint32_t n, struct vt_error *error)
{
    for (uint32_t at = 0; at < n;) {
        uint32_t what = (uint32_t)words[at];
        f->ticks += words[at] >> 32;
        if (what & VT_FUNCTION) {
            if (!add(&f->functions, what & VT_CODE_MASK)) return VT_NO_MEMORY;
            at++;
            continue;
        }
        uint32_t size = vt_record(words, at, n, error);
        if (!size) return VT_BAD_DATA;
        if (!add_record(f, words + at, what)) return VT_NO_MEMORY;
        at += size;
    }
    return VT_OK;
}

/* Returns the ticks of the first record of the first block that becomes a separate event; without one, the ticks of the
   block. */
static uint64_t first_event(const uint64_t *words, uint32_t n, uint64_t begin)
{
    uint64_t ticks = begin;
    struct vt_error unused;
    for (uint32_t at = 0; at < n;) {
        const uint32_t what = (uint32_t)words[at], kind = VT_KIND(what);
        ticks += words[at] >> 32;
        if (what & VT_FUNCTION || vt_record_roles[kind] & VT_WRITTEN) return ticks;
        if (kind == VT_K_TIME) ticks += words[at + 1];
        at += vt_record(words, at, n, &unused); /* not 0: add_records has checked all records */
    }
    return begin;
}

/* The second pass enters regions again that are open after missing blocks: these count as used. */
static int add_open(struct scanner *f, const struct vt_decoder *d)
{
    for (uint32_t i = 0; i < d->nopen; i++) {
        uint64_t open = d->open[i];
        int good = 1;
        if (open & VT_OPEN_ADDRESS) good = add(&f->addresses, open & ~VT_OPEN_ADDRESS);
        else if (open & VT_FUNCTION) good = add(&f->functions, open & VT_CODE_MASK);
        else good = add(&f->regions, VT_ID((uint32_t)open));
        if (!good) return VT_NO_MEMORY;
    }
    return VT_OK;
}

static int scan_rows(struct scanner *f, struct vt_decoder *d, const struct vt_row *rows, uint32_t count,
                     uint32_t wanted, struct vt_scan *found, struct vt_error *error)
{
    int hole = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct vt_row *row = &rows[i];
        int here = row->sequence != (i ? rows[i - 1].sequence + 1 : 0);
        uint32_t classes = row->classes;
        hole |= here;
        /* A missing block may have been the first block with a function. */
        if (hole && classes & VT_CLASS_FUNCTION) classes |= VT_CLASS_NEW_CODE;
        error->row = i;
        error->offset = 0;
        if (i && !here && !(classes & wanted)) { /* the first block has the first event, whose time is needed */
            if (classes & VT_CLASS_MEMORY) f->memory = 1;
            if (classes & VT_CLASS_THREAD) f->threads = 1;
            if (row->end_ticks > VT_TICKS_MAX) return vt_fail(error, VT_BAD_DATA, "impossible time");
            if (row->end_ticks > found->last_ticks) found->last_ticks = row->end_ticks;
            continue;
        }
        int code = vt_decode(d, row, error);
        if (code) return code;
        f->ticks = row->ticks;
        if (here) code = add_open(f, d);
        if (!code) code = add_records(f, d->words, row->raw_bytes / 8, error);
        if (code) return code;
        if (!i && !d->nopen) found->event_ticks = first_event(d->words, row->raw_bytes / 8, row->ticks);
        if (f->ticks > VT_TICKS_MAX) return vt_fail(error, VT_BAD_DATA, "impossible time");
        if (f->ticks > found->last_ticks) found->last_ticks = f->ticks;
        vt_release(d, row);
    }
    return VT_OK;
}

static int compare64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t *members(const struct set *s, uint64_t *count)
{
    uint64_t *list = malloc((s->count + 1) * sizeof *list), n = 0;
    *count = s->count;
    if (!list) return NULL;
    for (uint64_t i = 0; i < s->size; i++)
        if (s->slots[i]) list[n++] = s->slots[i] - 1;
    qsort(list, n, sizeof *list, compare64);
    return list;
}

static int collect(const struct scanner *f, struct vt_scan *found)
{
    found->functions = members(&f->functions, &found->nfunctions);
    found->addresses = members(&f->addresses, &found->naddresses);
    found->regions = members(&f->regions, &found->nregions);
    found->comms = members(&f->comms, &found->ncomms);
    found->handles = members(&f->handles, &found->nhandles);
    found->messages = f->messages;
    found->nmessages = f->nmessages;
    found->memory = f->memory;
    found->threads = f->threads;
    int all = found->functions && found->addresses && found->regions && found->comms && found->handles;
    return all ? VT_OK : VT_NO_MEMORY;
}

VT_EXPORT void vt_kernel_scan_free(struct vt_scan *found)
{
    free(found->functions);
    free(found->addresses);
    free(found->regions);
    free(found->comms);
    free(found->handles);
    free(found->messages);
    memset(found, 0, sizeof *found);
}

VT_EXPORT int vt_kernel_scan(const struct vt_row *rows, uint32_t count, uint32_t classes, struct vt_scan *found,
                             struct vt_error *error)
{
    struct scanner f = {.ticks = 0};
    struct vt_decoder *d = vt_decoder_new();
    memset(found, 0, sizeof *found);
    if (!d) return VT_NO_MEMORY;
    if (count) found->first_ticks = found->last_ticks = found->event_ticks = rows[0].ticks;
    int code = scan_rows(&f, d, rows, count, classes, found, error);
    if (!code) code = collect(&f, found);
    if (code) {
        if (!found->messages) free(f.messages);
        vt_kernel_scan_free(found);
    }
    free(f.functions.slots);
    free(f.addresses.slots);
    free(f.regions.slots);
    free(f.comms.slots);
    free(f.handles.slots);
    vt_decoder_free(d);
    return code;
}

/* ---- Samples ---- */

static int add_samples(struct set *frames, struct set *weights, const uint64_t *words, uint32_t n,
                       struct vt_sample_scan *found, struct vt_error *error)
{
    uint32_t depth = 0;
    for (uint32_t at = 0; at < n;) {
        uint32_t size = vt_sample_words(words, at, n, depth, error);
        if (!size) return VT_BAD_DATA;
        if (vt_sample_is_values(words + at)) {
            at += size;
            continue;
        }
        depth = size - VT_SAMPLE_WORDS + (uint32_t)(words[at + 2] >> 16 & 0xffff);
        if (!add(weights, words[at + 1])) return VT_NO_MEMORY;
        for (uint32_t i = VT_SAMPLE_WORDS; i < size; i++)
            if (!add(frames, words[at + i])) return VT_NO_MEMORY;
        if (!found->samples++) found->first_ticks = words[at];
        if (words[at] > found->last_ticks) found->last_ticks = words[at];
        at += size;
    }
    return VT_OK;
}

VT_EXPORT void vt_kernel_samples_free(struct vt_sample_scan *found)
{
    free(found->frames);
    free(found->weights);
    memset(found, 0, sizeof *found);
}

VT_EXPORT int vt_kernel_samples(const struct vt_row *rows, uint32_t count, struct vt_sample_scan *found,
                                struct vt_error *error)
{
    struct set frames = {NULL, 0, 0}, weights = {NULL, 0, 0};
    struct vt_decoder *d = vt_decoder_new();
    int code = d ? VT_OK : VT_NO_MEMORY;
    memset(found, 0, sizeof *found);
    for (uint32_t i = 0; !code && i < count; i++) {
        error->row = i;
        code = vt_decode(d, &rows[i], error);
        if (!code) code = add_samples(&frames, &weights, d->words, rows[i].raw_bytes / 8, found, error);
        if (!code) vt_release(d, &rows[i]);
    }
    if (!code) found->frames = members(&frames, &found->nframes);
    if (!code) found->weights = members(&weights, &found->nweights);
    if (!code && !(found->frames && found->weights)) code = VT_NO_MEMORY;
    if (code) vt_kernel_samples_free(found);
    free(frames.slots);
    free(weights.slots);
    vt_decoder_free(d);
    return code;
}
