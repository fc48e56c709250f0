/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of glibc's malloc: mallinfo2(3), and the number of arenas, which only malloc_info(3) reports. A reading
   takes the locks of malloc's arenas, one after the other. Such readings are therefore for sections, not for signal
   handlers, which may interrupt malloc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "provider.h"

/* glibc's struct mallinfo2; glibc 2.32 and other C libraries have no such structure. */
struct vt_mallinfo {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
static struct vt_mallinfo (*information)(void);

#define ARENAS SIZE_MAX
#define MEMBER(name) offsetof(struct vt_mallinfo, name)
static const struct {
    const char *name, *unit, *meaning;
    size_t offset;
} members[] = {
    {"malloc-arena", "B", "memory of malloc's arenas", MEMBER(arena)},
    {"malloc-in-use", "B", "memory of arenas in blocks of the program", MEMBER(uordblks)},
    {"malloc-free", "B", "memory of arenas in free blocks", MEMBER(fordblks)},
    {"malloc-mmapped", "#", "blocks that malloc has mapped outside its arenas", MEMBER(hblks)},
    {"malloc-mmapped-bytes", "B", "memory of blocks that malloc has mapped outside its arenas", MEMBER(hblkhd)},
    {"malloc-arenas", "#", "arenas of malloc", ARENAS},
};
#define MEMBERS (sizeof members / sizeof *members)

static int list(unsigned i, struct vt_counter *found)
{
    if (i >= MEMBERS) return 0;
    return vt_counter_fill(found, i, members[i].name, members[i].unit, members[i].meaning, 'p', VT_SCOPE_THREAD);
}

/* ---- Arenas: malloc_info writes an element for each of them into a stream, which keeps nothing of the text ---- */

static const char element[] = "<heap nr=";
static struct {
    int (*write)(int options, FILE *stream);
    FILE *stream;
    unsigned matched; /* number of characters of the element that end the text so far */
    uint64_t found;
    char buffer[4096];
} arenas;

/* The first character of the element occurs in it once, so that a mismatch begins a new search there. */
static ssize_t look(void *cookie, const char *text, size_t bytes)
{
    (void)cookie;
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] != element[arenas.matched]) arenas.matched = 0;
        if (text[i] == element[arenas.matched]) arenas.matched++;
        if (element[arenas.matched]) continue;
        arenas.found++;
        arenas.matched = 0;
    }
    return (ssize_t)bytes;
}

static int open_arenas(void)
{
    if (arenas.stream) return 1;
    void *at = dlsym(RTLD_DEFAULT, "malloc_info");
    memcpy(&arenas.write, &at, sizeof at);
    FILE *stream = at ? fopencookie(NULL, "w", (cookie_io_functions_t){.write = look}) : NULL;
    if (!stream) return 0;
    setvbuf(stream, arenas.buffer, _IOFBF, sizeof arenas.buffer);
    arenas.stream = stream;
    return 1;
}

static uint64_t count_arenas(void)
{
    flockfile(arenas.stream);
    arenas.found = arenas.matched = 0;
    arenas.write(0, arenas.stream);
    fflush(arenas.stream);
    uint64_t found = arenas.found;
    funlockfile(arenas.stream);
    return found;
}

static long open_all(const struct vt_counter *counters, unsigned n, struct vt_provider_state *s, unsigned *failed)
{
    (void)s;
    for (*failed = 0; *failed < n; ++*failed)
        if (members[counters[*failed].number].offset == ARENAS && !open_arenas()) return -ENOSYS;
    *failed = 0;
    if (!information) {
        void *at = dlsym(RTLD_DEFAULT, "mallinfo2");
        memcpy(&information, &at, sizeof at);
    }
    return information ? 0 : -ENOSYS;
}

static long read_all(const struct vt_counter *counters, unsigned n, struct vt_provider_state *s, uint64_t *values)
{
    (void)s;
    if (!information) return -ENOSYS;
    struct vt_mallinfo now = information();
    for (unsigned i = 0; i < n; i++) {
        size_t offset = members[counters[i].number].offset;
        if (offset == ARENAS) values[i] = count_arenas();
        else memcpy(&values[i], (const char *)&now + offset, sizeof values[i]);
    }
    return 0;
}

const struct vt_provider vt_malloc_counters = {.open = open_all, .read = read_all, .list = list, .takes_locks = 1};
