/* SPDX-License-Identifier: BSD-3-Clause */
/* Open files and datasets by their identifiers, and the definitions of their I/O handles. There are no locks: HDF5 has one
   of its own, or the program lets one thread at a time use HDF5. If a name is opened again, its handle is used again, so that
   opening a dataset in a loop needs one definition. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>
#include "hdf5wrap.h"

#define OBJECTS 8192u /* powers of two */
#define NAMES 8192u
#define PROBES 32u
enum { FREE = 0, GONE = 1, BUSY = 2 }; /* keys that no identifier has */
enum { PRE_CREATED = 1 }; /* OTF2_IoHandleFlag */
enum { DATASET = 5 }; /* H5I_type_t */

static struct vt_h5_object objects[OBJECTS];

/* A defined file or handle, by a checksum of what defines it. */
static struct known_name {
    _Atomic(uint64_t) content; /* 0: unused */
    uint32_t id;
    _Atomic(uint32_t) is_open; /* 1: a handle that an object uses */
} names[NAMES]; /* the first one is not used */

static _Atomic(uint32_t) version = 1; /* of all extents and types */

void vt_h5_resized(void) { atomic_fetch_add(&version, 1); }

/* ---- Objects ---- */

static uint64_t key_of(const struct vt_h5_library *l, vt_h5_id id)
{
    return (uint64_t)id ^ (uint64_t)(vt_h5_number(l) + 1) << 48; /* an identifier has its type above these bits */
}

static uint32_t place_of(uint64_t key, uint32_t turn)
{
    return ((uint32_t)(key * 0x9e3779b97f4a7c15u >> 40) + turn) % OBJECTS;
}

struct vt_h5_object *vt_h5_known(const struct vt_h5_library *l, vt_h5_id id)
{
    const uint64_t key = key_of(l, id);
    for (uint32_t i = 0; i < PROBES; i++) {
        struct vt_h5_object *o = &objects[place_of(key, i)];
        const uint64_t there = atomic_load_explicit(&o->key, memory_order_acquire);
        if (there == key) return o;
        if (there == FREE) return NULL;
    }
    return NULL;
}

/* An identifier that is known already belongs to an object that was closed by a call which is not wrapped. */
static struct vt_h5_object *keep(const struct vt_h5_library *l, vt_h5_id id, struct vt_h5_object made)
{
    const uint64_t key = key_of(l, id);
    struct vt_h5_object *old = vt_h5_known(l, id);
    if (old) vt_h5_closed(NULL, old, true);
    for (uint32_t i = 0; i < PROBES; i++) {
        struct vt_h5_object *o = &objects[place_of(key, i)];
        uint64_t there = atomic_load(&o->key);
        if ((there != FREE && there != GONE) || !atomic_compare_exchange_strong(&o->key, &there, BUSY)) continue;
        o->handle = made.handle;
        o->file = made.file;
        o->parent = made.parent;
        o->name = made.name;
        o->is_dataset = made.is_dataset;
        o->nameless = made.nameless;
        o->version = 0;
        o->points = -1;
        atomic_store(&o->key, key);
        return o;
    }
    vt_warn_left_out("io",
                     "more than about %u files and datasets of HDF5 are open: transfers of others are not recorded",
                     OBJECTS / 2);
    return NULL;
}

void vt_h5_closed(struct vt_h5_batch *batch, struct vt_h5_object *o, bool closed)
{
    if (!o || !closed) return;
    if (o->name) atomic_store(&names[o->name].is_open, 0);
    if (batch) batch->words[batch->n++] = VT_HEAD(VT_K_IO_DESTROY, 0, o->handle);
    atomic_store(&o->key, GONE);
}

void vt_h5_forget(const struct vt_h5_library *l)
{
    for (struct vt_h5_object *o = objects; o < objects + OBJECTS; o++) {
        const uint64_t key = atomic_load(&o->key);
        if (key > BUSY && (key >> 48 & 15) == vt_h5_number(l) + 1) vt_h5_closed(NULL, o, true);
    }
}

/* ---- Definitions ---- */

/* The place of an unused definition of this content, or a free place for it; 0: none. */
static uint32_t name_of(uint64_t content, bool is_file)
{
    for (uint32_t i = 0; i < PROBES; i++) {
        const uint32_t place = 1 + (uint32_t)((content >> 20) + i) % (NAMES - 1);
        struct known_name *n = &names[place];
        uint64_t there = 0;
        uint32_t closed = 0;
        if (atomic_compare_exchange_strong(&n->content, &there, content)) {
            n->id = 0;
            atomic_store(&n->is_open, 1);
            return place;
        }
        if (there == content && (is_file || atomic_compare_exchange_strong(&n->is_open, &closed, 1))) return place;
    }
    return 0;
}

static uint32_t define_file(const char *path)
{
    const uint32_t place = name_of(vt_checksum(1, path, strlen(path)), true);
    uint32_t id = place ? names[place].id : 0;
    if (id) return id;
    id = (uint32_t)vt_new_id(VT_ID_IO_FILE);
    if (!id || !vt_define(VT_D_IO_FILE, vt_number(id), vt_string(path))) return 0;
    if (place) names[place].id = id;
    return id;
}

/* name NULL: that of the file. Returns 0 if the definition is lost. */
static int define_handle(const struct vt_h5_object *o, const char *name, bool before)
{
    return vt_define(VT_D_IO_HANDLE, vt_number(o->handle), vt_string(name), vt_id(o->file), vt_number(VT_IO_HDF5),
                     vt_number(before ? PRE_CREATED : 0), vt_nil(), vt_id(o->parent),
                     before ? vt_number(VT_H5_READ_WRITE) : vt_nil(), before ? vt_number(0) : vt_nil());
}

/* before: the trace shows the object open from the beginning. */
static struct vt_h5_object define(const char *name, uint32_t file, uint32_t parent, bool before)
{
    struct vt_h5_object o = {.file = file, .parent = parent, .is_dataset = name, .nameless = name && !*name && !before};
    const uint64_t salt = (uint64_t)file << 32 | parent;
    const char *text = name ? name : "";
    if (!before && !o.nameless) o.name = name_of(vt_checksum(salt, text, strlen(text)) | 2, false);
    o.handle = o.name ? names[o.name].id : 0;
    if (o.handle) return o;
    o.handle = (uint32_t)vt_new_id(VT_ID_IO_HANDLE);
    if (o.handle && !define_handle(&o, name, before)) o.handle = 0;
    if (o.name) names[o.name].id = o.handle;
    return o;
}

void vt_h5_linked(struct vt_h5_library *l, vt_h5_id object, vt_h5_id where, const char *name)
{
    char path[1024] = "";
    struct vt_h5_object *o = vt_h5_known(l, object);
    if (!o || !o->nameless) return;
    const struct vt_own_work work = vt_own_work_begin();
    long n = *name == '/' ? 0 : l->name_of(where, path, sizeof path);
    if (n >= 0 && (size_t)n + strlen(name) + 2 < sizeof path) {
        if (n > 1) path[n++] = '/'; /* the root group is "/" */
        strcpy(path + n, name);
        o->nameless = !define_handle(o, path, false); /* replaces the definition without the name */
    }
    vt_own_work_end(&work);
}

static void add_created(struct vt_h5_batch *batch, uint32_t handle, enum vt_h5_access access, unsigned creation)
{
    uint64_t *words = &batch->words[batch->n];
    words[0] = VT_HEAD(VT_K_IO_CREATE, 2, handle);
    words[1] = (uint64_t)access | (uint64_t)creation << 32;
    words[2] = 0;
    batch->n += 3;
}

/* The absolute path of a file; "" if it is too long. */
static const char *absolute(const char *path, char into[PATH_MAX])
{
    while (path[0] == '.' && path[1] == '/') path += 2;
    size_t n = 0;
    *into = 0;
    if (*path != '/' && getcwd(into, PATH_MAX)) n = strlen(into);
    if (n && into[n - 1] != '/') into[n++] = '/';
    const size_t length = strlen(path);
    if (n + length + 1 > PATH_MAX) return "";
    memcpy(into + n, path, length + 1);
    return into;
}

static struct vt_h5_object *meet_file(struct vt_h5_library *l, vt_h5_id id, const char *path, bool before)
{
    char whole[PATH_MAX];
    const struct vt_own_work work = vt_own_work_begin();
    const struct vt_h5_object made = define(NULL, define_file(absolute(path, whole)), 0, before);
    struct vt_h5_object *o = made.handle ? keep(l, id, made) : NULL;
    vt_own_work_end(&work);
    return o;
}

void vt_h5_opened_file(struct vt_h5_batch *batch, struct vt_h5_library *l, vt_h5_id file, const char *path,
                       enum vt_h5_access access, unsigned creation)
{
    const struct vt_h5_object *o = meet_file(l, file, path, false);
    if (o) add_created(batch, o->handle, access, creation);
}

/* The file of a dataset: HDF5 counts one more reference to its identifier, which may be new. */
static struct vt_h5_object file_of(struct vt_h5_library *l, vt_h5_id dataset)
{
    char path[PATH_MAX];
    struct vt_h5_object found = {.handle = 0};
    const vt_h5_id id = l->file_of(dataset);
    if (id < 0) return found;
    struct vt_h5_object *o = vt_h5_known(l, id);
    if (!o) {
        const long n = l->file_name_of(id, path, sizeof path);
        if (n > 0 && n < (long)sizeof path) o = meet_file(l, id, path, true);
    }
    if (o) found = (struct vt_h5_object){.handle = o->handle, .file = o->file};
    l->drop(id);
    return found;
}

static struct vt_h5_object *meet_dataset(struct vt_h5_library *l, vt_h5_id id, bool has_name, bool before)
{
    char name[1024] = "";
    const struct vt_own_work work = vt_own_work_begin();
    const struct vt_h5_object file = file_of(l, id);
    if (has_name && l->name_of(id, name, sizeof name) < 0) *name = 0;
    const struct vt_h5_object made = define(name, file.file, file.handle, before);
    struct vt_h5_object *o = made.handle ? keep(l, id, made) : NULL;
    vt_own_work_end(&work);
    return o;
}

void vt_h5_opened_dataset(struct vt_h5_batch *batch, struct vt_h5_library *l, vt_h5_id dataset, bool has_name,
                          unsigned creation)
{
    if (l->type_of(dataset) != DATASET) return; /* H5Oopen opens any object */
    const struct vt_h5_object *o = meet_dataset(l, dataset, has_name, false);
    if (o) add_created(batch, o->handle, VT_H5_READ_WRITE, creation);
}

struct vt_h5_object *vt_h5_dataset(struct vt_h5_library *l, vt_h5_id id)
{
    struct vt_h5_object *o = vt_h5_known(l, id);
    if (VT_LIKELY(o)) return o->is_dataset ? o : NULL;
    return id > 0 && l->is_valid(id) > 0 && l->type_of(id) == DATASET ? meet_dataset(l, id, false, true) : NULL;
}

/* ---- Sizes ---- */

/* The library takes a lock for each question, so the answers are kept: bits 40 and up of a word are of the identifier and
   the version, the others the size. */
size_t vt_h5_size(struct vt_h5_library *l, vt_h5_id type)
{
    static _Atomic(uint64_t) known[256];
    const uint64_t key = (key_of(l, type) + atomic_load(&version)) * 0x9e3779b97f4a7c15u;
    _Atomic(uint64_t) *place = &known[key >> 56];
    const uint64_t mark = key << 8 & ~(uint64_t)0 << 40, there = atomic_load_explicit(place, memory_order_relaxed);
    if (VT_LIKELY((there & ~(uint64_t)0 << 40) == mark && there)) return there & (((uint64_t)1 << 40) - 1);
    const size_t size = VT_OWN_WORK(l->size_of(type));
    atomic_store_explicit(place, size >> 40 ? 0 : mark | size, memory_order_relaxed);
    return size;
}

int64_t vt_h5_points(struct vt_h5_library *l, vt_h5_id dataset, struct vt_h5_object *o, vt_h5_id memory, vt_h5_id file)
{
    enum { NAMED = 2 }; /* up to here H5S_ALL, H5S_BLOCK and H5S_PLIST stand for spaces */
    if (file > NAMED) return l->points_of(file);
    if (memory > NAMED) return l->points_of(memory);
    const uint32_t now = atomic_load(&version);
    if (o->points >= 0 && o->version == now) return o->points;
    const struct vt_own_work work = vt_own_work_begin();
    const vt_h5_id space = l->space_of(dataset);
    o->points = space < 0 ? -1 : l->points_of(space); /* a new space selects all */
    o->version = now;
    if (space >= 0) l->drop(space);
    vt_own_work_end(&work);
    return o->points;
}

/* ---- Records ---- */

void vt_h5_finish(struct vt_h5_batch *batch, uint32_t region)
{
    batch->words[batch->n++] = VT_HEAD(VT_K_LEAVE, 0, region);
    vt_write(batch->words, batch->n);
}
