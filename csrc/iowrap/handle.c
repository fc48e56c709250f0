/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors and streams of the process, and the definitions of their files. There are no locks: the state of a
   descriptor is one word. A forked child continues with the ids of its parent. The child of a vfork shares the table
   but not the descriptors, so it does not change the table.
   Memory order: a page of the table is complete before a sequentially consistent exchange publishes it; a thread that
   uses a descriptor loads with acquire. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include "core/sys.h"
#include "iowrap.h"

static struct vt_io_page first_page;
struct vt_io_page *_Atomic vt_io_pages[VT_IO_PAGES] = {&first_page};

/* ---- Values of OTF2 ---- */

/* clang-format off */
enum { PRE_CREATED = 1 };                                          /* OTF2_IoHandleFlag */
enum { CREATE = 1, TRUNCATE = 2, DIRECTORY = 4, EXCLUSIVE = 8, NO_TTY = 16, NO_FOLLOW = 32, PATH_ONLY = 64,
       TEMPORARY = 128, LARGE = 256 };                             /* OTF2_IoCreationFlag */
enum { CLOSE_ON_EXEC = 1, APPEND = 2, NON_BLOCKING = 4, ASYNC = 8, SYNC = 16, DATA_SYNC = 32, AVOID_CACHING = 64,
       NO_ACCESS_TIME = 128 };                                     /* OTF2_IoStatusFlag */
/* clang-format on */

static uint32_t creation_of(int flags)
{
    return (flags & O_CREAT ? CREATE : 0) | (flags & O_TRUNC ? TRUNCATE : 0) | (flags & O_EXCL ? EXCLUSIVE : 0) |
           (flags & O_DIRECTORY ? DIRECTORY : 0) | (flags & O_NOCTTY ? NO_TTY : 0) |
           (flags & O_NOFOLLOW ? NO_FOLLOW : 0) | (flags & O_PATH ? PATH_ONLY : 0) |
           ((flags & O_TMPFILE) == O_TMPFILE ? TEMPORARY : 0) | (O_LARGEFILE && flags & O_LARGEFILE ? LARGE : 0);
}

uint32_t vt_io_status(int flags)
{
    return (flags & O_CLOEXEC ? CLOSE_ON_EXEC : 0) | (flags & O_APPEND ? APPEND : 0) |
           (flags & O_NONBLOCK ? NON_BLOCKING : 0) | (flags & O_ASYNC ? ASYNC : 0) |
           ((flags & O_SYNC) == O_SYNC ? SYNC
            : flags & O_DSYNC          ? DATA_SYNC
                                       : 0) |
           (flags & O_DIRECT ? AVOID_CACHING : 0) | (flags & O_NOATIME ? NO_ACCESS_TIME : 0);
}

/* OTF2_IoAccessMode has the values of O_RDONLY, O_WRONLY and O_RDWR. */
static uint32_t access_of(int flags) { return (flags & O_ACCMODE) == 3 ? 2 : (uint32_t)(flags & O_ACCMODE); }

int vt_io_mode_flags(const char *mode)
{
    int flags = *mode == 'r' ? O_RDONLY : *mode == 'a' ? O_WRONLY | O_CREAT | O_APPEND : O_WRONLY | O_CREAT | O_TRUNC;
    for (const char *c = mode; *c && *c != ','; c++) {
        if (*c == '+') flags = (flags & ~O_ACCMODE) | O_RDWR;
        else if (*c == 'e') flags |= O_CLOEXEC;
        else if (*c == 'x') flags |= O_EXCL;
    }
    return flags;
}

/* ---- Memory for paths. The stack may be the small one of a signal handler, and malloc is not allowed. ---- */

struct definition_space {
    _Atomic(uint32_t) owner; /* process id; another id means a copy made by fork */
    char path[2 * PATH_MAX + 2]; /* a directory and a name in it */
};

/* A signal handler or another thread gets another buffer. NULL: all are in use. */
static struct definition_space *take_scratch(void)
{
    static struct definition_space all[8];
    const uint32_t me = (uint32_t)VT_SYS0(getpid);
    for (int i = 0; i < 1000; i++) {
        for (struct definition_space *s = all; s < all + sizeof all / sizeof *all; s++) {
            uint32_t owner = atomic_load(&s->owner);
            if (owner != me && atomic_compare_exchange_strong(&s->owner, &owner, me)) return s;
        }
        VT_SYS0(sched_yield);
    }
    vt_warn("too many threads open files at the same time: some files are recorded without a name");
    return NULL;
}

static void give_scratch(struct definition_space *s)
{
    if (s) atomic_store(&s->owner, 0);
}

/* ---- Files ---- */

/* Ids of paths: 43 bits of the hash of the path, and the id. So most files are defined once, even if the program opens
   them again. vtunify merges files that are defined twice. */
static _Atomic(uint64_t) files[4096];

/* The definitions of a call, which are written together. */
struct io_definitions {
    struct vt_definition_value values[3 + 10]; /* of a file and a handle */
    size_t n;
    _Atomic(uint64_t) *place; /* of a new file in `files`, with its value; NULL: none */
    uint64_t known;
};

/* Returns 0 if the definitions could not be written. */
static int end(const struct io_definitions *d)
{
    if (d->n && !vt_define_values(d->values, d->n)) return 0;
    if (d->place) atomic_store(d->place, d->known);
    return 1;
}

/* path: must stay until the definitions are written. */
static uint32_t file_of(struct io_definitions *d, const char *path)
{
    const size_t length = strlen(path);
    const uint64_t hash = vt_checksum(0, path, length) & ~(uint64_t)VT_ID_MAX;
    _Atomic(uint64_t) *place = &files[hash >> 52];
    const uint64_t found = atomic_load(place);
    if (found && !((found ^ hash) & ~(uint64_t)VT_ID_MAX)) return (uint32_t)found & VT_ID_MAX;
    const uint64_t id = vt_new_id(VT_ID_IO_FILE);
    if (!id) return 0;
    const struct vt_definition_value values[] = {vt_kind(VT_D_IO_FILE, 2), vt_number(id), vt_string(path)};
    memcpy(d->values, values, sizeof values);
    d->n = 3;
    d->place = place;
    d->known = hash | id;
    return (uint32_t)id;
}

/* Stores the name that /proc has for a descriptor: a path, "pipe:[1]" or "socket:[2]". Returns its length; 0: none. */
static long name_of_fd(int fd, char *into, size_t bytes)
{
    char link[32] = "/proc/self/fd/", digits[12], *d = digits + sizeof digits - 1;
    unsigned v = (unsigned)fd;
    *d = 0;
    do *--d = (char)('0' + v % 10);
    while (v /= 10);
    strcpy(link + 14, d);
    long n = VT_SYS4(readlinkat, AT_FDCWD, link, into, bytes - 1);
    into[n > 0 ? n : 0] = 0;
    return n > 0 ? n : 0;
}

/* ---- Paths of open directories, by file: /proc needs several microseconds for one ---- */

#define PATHS 256u
#define PATH_WORDS 63u
static struct known_path {
    _Atomic(uint32_t) turn; /* odd while a thread stores the path */
    _Atomic(uint32_t) file, renames; /* renames: number of renamings before */
    _Atomic(uint64_t) words[PATH_WORDS]; /* the path, ending with at least one zero */
} *_Atomic known_paths; /* PATHS of them, from the first relative path on; NULL: none yet, or no memory */
static _Atomic(uint32_t) renames; /* number of calls of rename and its variants */

void vt_io_renames(void) { atomic_fetch_add(&renames, 1); }

static struct known_path *known_of(uint32_t file)
{
    struct known_path *all = vt_pages_once((void **)&known_paths, PATHS * sizeof *all);
    return all ? &all[file % PATHS] : NULL;
}

/* before: the number of renamings before the path was found. */
static void remember_path(uint32_t file, const char *path, uint32_t before)
{
    struct known_path *k = file ? known_of(file) : NULL;
    const size_t length = strlen(path);
    uint64_t words[PATH_WORDS] = {0};
    uint32_t turn = k ? atomic_load(&k->turn) : 1;
    if (length >= sizeof words || turn & 1 || !atomic_compare_exchange_strong(&k->turn, &turn, turn + 1)) return;
    memcpy(words, path, length);
    atomic_store(&k->file, file);
    atomic_store(&k->renames, before);
    for (size_t i = 0; i <= length / 8; i++) atomic_store_explicit(&k->words[i], words[i], memory_order_relaxed);
    atomic_store(&k->turn, turn + 2);
}

/* Stores a remembered path. Returns its length; 0: unknown. */
static long recall_path(uint32_t file, char *into)
{
    struct known_path *k = file && atomic_load(&known_paths) ? known_of(file) : NULL;
    const uint32_t turn = k ? atomic_load(&k->turn) : 1;
    uint64_t words[PATH_WORDS + 1];
    size_t n = 0;
    if (turn & 1 || atomic_load(&k->file) != file || atomic_load(&k->renames) != atomic_load(&renames)) return 0;
    do words[n] = atomic_load_explicit(&k->words[n], memory_order_acquire);
    while (memchr(&words[n], 0, sizeof *words) == NULL && ++n < PATH_WORDS);
    words[PATH_WORDS] = 0;
    if (n == PATH_WORDS || atomic_load(&k->turn) != turn) return 0;
    strcpy(into, (const char *)words);
    return (long)strlen(into);
}

/* Stores the path of an open directory. Returns its length; 0: none. */
static long path_of_directory(int fd, char *into, size_t bytes)
{
    const uint32_t file = VT_IO_OF_FILE(vt_io_known(fd));
    const uint32_t before = atomic_load(&renames);
    long n = recall_path(file, into);
    if (n) return n;
    n = name_of_fd(fd, into, bytes);
    if (n) remember_path(file, into, before);
    return n;
}

/* Stores the absolute path in s->path. A leading "./" is dropped, so that the same file has the same name when it is
   opened and when it is removed. */
static const char *absolute(struct definition_space *s, int directory, const char *path)
{
    while (path[0] == '.' && path[1] == '/') {
        path += 2;
        while (*path == '/') path++;
    }
    long n = 0;
    if (*path != '/') {
        if (directory != AT_FDCWD) n = path_of_directory(directory, s->path, PATH_MAX);
        else if ((n = VT_SYS2(getcwd, s->path, PATH_MAX)) > 0) n--; /* the result includes the final zero */
        if (n < 0) n = 0;
        if (n && s->path[n - 1] != '/') s->path[n++] = '/';
    }
    const size_t length = strnlen(path, PATH_MAX);
    memcpy(s->path + n, path, length);
    s->path[(size_t)n + length] = 0;
    return s->path;
}

uint32_t vt_io_file(int directory, const char *path)
{
    struct definition_space *s = vt_shares_memory() ? NULL : take_scratch();
    if (!s) return 0;
    struct io_definitions d = {.n = 0};
    uint32_t id = file_of(&d, absolute(s, directory, path));
    if (!end(&d)) id = 0;
    give_scratch(s);
    return id;
}

/* ---- Handles ---- */

struct handle {
    const char *name; /* NULL: the name of the file */
    enum vt_io_paradigm paradigm;
    uint32_t file, parent;
    bool before; /* open before vtrace knew it; flags are those of open(2) */
    int flags;
};

static uint32_t define_handle(struct io_definitions *d, const struct handle *h)
{
    const uint64_t id = vt_new_id(VT_ID_IO_HANDLE);
    if (!id) {
        vt_warn("more than %u files were opened: I/O on further files is recorded without the file", VT_ID_MAX);
        end(d); /* the file may be new */
        return 0;
    }
    const struct vt_definition_value values[] = {
        vt_kind(VT_D_IO_HANDLE, 9),
        vt_number(id),
        vt_string(h->name || h->file ? h->name : ""), /* nil: the name of the file */
        vt_id(h->file),
        vt_number(h->paradigm),
        vt_number(h->before ? PRE_CREATED : 0),
        vt_nil(),
        vt_id(h->parent),
        h->before ? vt_number(access_of(h->flags)) : vt_nil(),
        h->before ? vt_number(vt_io_status(h->flags)) : vt_nil(),
    };
    memcpy(d->values + d->n, values, sizeof values);
    d->n += sizeof values / sizeof *values;
    return end(d) ? (uint32_t)id : 0;
}

/* The entry of a descriptor, created if necessary; NULL beyond the table. */
static _Atomic(uint64_t) *place_of(int fd)
{
    const unsigned page = (unsigned)fd / VT_IO_PAGE;
    if (page >= VT_IO_PAGES) return NULL;
    vt_pages_once((void **)&vt_io_pages[page], sizeof(struct vt_io_page));
    return vt_io_place(fd);
}

/* Defines a descriptor that was opened before recording began, or by a function that is not wrapped. */
static uint32_t define_fd(int fd, const char *name)
{
    const long flags = fd < 0 ? -1 : VT_SYS2(fcntl, fd, F_GETFL);
    if (flags < 0 || vt_shares_memory()) return 0;
    _Atomic(uint64_t) *place = place_of(fd);
    struct definition_space *s = place ? take_scratch() : NULL;
    if (!s) return 0;
    struct handle h = {.name = name, .paradigm = VT_IO_POSIX, .before = true, .flags = (int)flags};
    struct io_definitions d = {.n = 0};
    if (name_of_fd(fd, s->path, sizeof s->path)) h.file = file_of(&d, s->path);
    const uint32_t id = define_handle(&d, &h);
    uint64_t known = 0;
    give_scratch(s);
    if (!id || atomic_compare_exchange_strong(place, &known, VT_IO_WORD(id, 0, h.file))) return id;
    return VT_IO_OF_FD(known); /* another thread was faster */
}

static uint32_t meet_stream(FILE *stream, const char *name)
{
    const int fd = vt_io_fileno(stream);
    const uint32_t parent = vt_io_fd(fd);
    const long flags = parent ? VT_SYS2(fcntl, fd, F_GETFL) : -1;
    struct definition_space *s = flags < 0 ? NULL : take_scratch();
    if (!s) return 0;
    uint64_t known = vt_io_known(fd);
    struct io_definitions d = {.n = 0};
    /* clang-format off */
    const struct handle h = {.name = name, .paradigm = VT_IO_ISOC, .file = VT_IO_OF_FILE(known), .parent = parent,
                             .before = true, .flags = (int)flags};
    /* clang-format on */
    const uint32_t id = define_handle(&d, &h);
    give_scratch(s);
    while (id && VT_IO_OF_FD(known) == parent && !VT_IO_OF_STREAM(known))
        if (atomic_compare_exchange_strong(vt_io_place(fd), &known, known | VT_IO_WORD(0, id, 0))) return id;
    return VT_IO_OF_STREAM(known);
}

uint32_t vt_io_define_fd(int fd) { return define_fd(fd, NULL); }
uint32_t vt_io_define_stream(FILE *stream) { return meet_stream(stream, NULL); }

void vt_io_define_standard(void)
{
    static const char *const names[] = {"stdin", "stdout", "stderr"};
    FILE *const streams[] = {stdin, stdout, stderr};
    for (int fd = 0; fd < 3; fd++)
        if (define_fd(fd, names[fd]) && streams[fd] && vt_io_fileno(streams[fd]) == fd)
            meet_stream(streams[fd], names[fd]);
}

static void created(struct vt_io_batch *batch, uint32_t id, int flags)
{
    if (!id) return;
    uint64_t *words = vt_io_add(batch, 3);
    words[0] = VT_HEAD(VT_K_IO_CREATE, 2, id);
    words[1] = vt_io_pair(access_of(flags), creation_of(flags));
    words[2] = vt_io_status(flags);
}

/* 1: the call opened the directory of this name itself, and no link. */
static int is_own_directory(const char *name, int flags)
{
    return flags & O_DIRECTORY && flags & O_NOFOLLOW && !strchr(name, '/') && strcmp(name, ".") && strcmp(name, "..");
}

/* Defines the file that a call opened, and adds the record of the call. path NULL: /proc has the path. An old handle of
   the same descriptor was closed by a function that is not wrapped. */
static void opened(struct vt_io_batch *batch, int fd, bool stream, int directory, const char *path, int flags)
{
    _Atomic(uint64_t) *place = vt_shares_memory() || fd < 0 ? NULL : place_of(fd);
    struct definition_space *s = place ? take_scratch() : NULL;
    if (!place) return;
    struct handle h = {.paradigm = VT_IO_POSIX};
    uint32_t posix = 0, isoc = 0;
    if (s) {
        const uint32_t before = atomic_load(&renames);
        struct io_definitions d = {.n = 0};
        if (path) absolute(s, directory, path);
        if (path || name_of_fd(fd, s->path, sizeof s->path)) h.file = file_of(&d, s->path);
        posix = define_handle(&d, &h);
        if (path && is_own_directory(path, flags)) remember_path(h.file, s->path, before);
        h.paradigm = VT_IO_ISOC;
        h.parent = posix;
        d = (struct io_definitions){.n = 0};
        if (stream && posix) isoc = define_handle(&d, &h);
    }
    give_scratch(s);
    vt_io_closed(batch, atomic_exchange(place, VT_IO_WORD(posix, isoc, h.file)));
    created(batch, posix, flags);
    created(batch, isoc, flags);
}

void vt_io_opened(struct vt_io_batch *batch, int fd, int directory, const char *path, int flags)
{
    opened(batch, fd, false, directory, path, flags);
}

void vt_io_opened_stream(struct vt_io_batch *batch, FILE *stream, const char *path, int flags)
{
    opened(batch, vt_io_fileno(stream), true, AT_FDCWD, path, flags);
}

/* A stream on an open descriptor (fdopen). */
void vt_io_stream_on(struct vt_io_batch *batch, FILE *stream, int flags)
{
    const int fd = vt_io_fileno(stream);
    const uint32_t parent = vt_io_fd(fd);
    struct definition_space *s = parent && !vt_shares_memory() ? take_scratch() : NULL;
    if (!s) return;
    uint64_t known = vt_io_known(fd);
    struct io_definitions d = {.n = 0};
    const struct handle h = {.paradigm = VT_IO_ISOC, .file = VT_IO_OF_FILE(known), .parent = parent};
    const uint32_t id = define_handle(&d, &h);
    give_scratch(s);
    if (VT_IO_OF_STREAM(known)) *vt_io_add(batch, 1) = VT_HEAD(VT_K_IO_DESTROY, 0, VT_IO_OF_STREAM(known));
    atomic_store(vt_io_place(fd), VT_IO_WORD(parent, id, h.file));
    created(batch, id, flags);
}

/* replaced: result of vt_io_take for the new descriptor. */
void vt_io_duplicated(struct vt_io_batch *batch, int from, int to, uint64_t replaced, int flags)
{
    vt_io_closed(batch, replaced);
    const uint32_t old = vt_io_fd(from);
    _Atomic(uint64_t) *place = !old || vt_shares_memory() ? NULL : place_of(to);
    struct definition_space *s = place ? take_scratch() : NULL;
    if (!s) return;
    struct handle h = {.paradigm = VT_IO_POSIX, .file = VT_IO_OF_FILE(vt_io_known(from))};
    struct io_definitions d = {.n = 0};
    const uint32_t id = define_handle(&d, &h);
    give_scratch(s);
    vt_io_closed(batch, atomic_exchange(place, VT_IO_WORD(id, 0, h.file)));
    if (!id) return;
    uint64_t *words = vt_io_add(batch, 2);
    words[0] = VT_HEAD(VT_K_IO_DUPLICATE, 1, old);
    words[1] = vt_io_pair(id, vt_io_status(flags));
}

uint64_t vt_io_take(int fd)
{
    _Atomic(uint64_t) *place = vt_io_place(fd);
    if (!place || !atomic_load(place) || vt_shares_memory()) return 0;
    return atomic_exchange(place, 0);
}

void vt_io_restore(int fd, uint64_t known)
{
    uint64_t none = 0;
    if (known) atomic_compare_exchange_strong(vt_io_place(fd), &none, known);
}

void vt_io_closed(struct vt_io_batch *batch, uint64_t known)
{
    if (VT_IO_OF_STREAM(known)) *vt_io_add(batch, 1) = VT_HEAD(VT_K_IO_DESTROY, 0, VT_IO_OF_STREAM(known));
    if (VT_IO_OF_FD(known)) *vt_io_add(batch, 1) = VT_HEAD(VT_K_IO_DESTROY, 0, VT_IO_OF_FD(known));
}

/* Ends the handles of all descriptors from first to last. Writes ENTER, too. */
void vt_io_close_range(uint32_t region, unsigned first, unsigned last)
{
    struct vt_io_batch batch = {1, {VT_HEAD(VT_K_ENTER, 0, region)}};
    for (unsigned page = first / VT_IO_PAGE; page < VT_IO_PAGES && page <= last / VT_IO_PAGE; page++) {
        if (!atomic_load(&vt_io_pages[page])) continue;
        for (unsigned i = 0; i < VT_IO_PAGE; i++) {
            const unsigned fd = page * VT_IO_PAGE + i;
            if (fd >= first && fd <= last) vt_io_closed(&batch, vt_io_take((int)fd));
        }
    }
    vt_write(batch.words, batch.n);
}
