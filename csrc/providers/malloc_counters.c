/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of glibc's malloc: mallinfo2(3). A reading takes the locks of malloc's arenas, one after the other, so that
   it belongs to sections, not to signal handlers that may interrupt malloc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include "provider.h"

/* glibc's struct mallinfo2; glibc 2.32 and other C libraries have no such structure. */
struct vt_mallinfo {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
static struct vt_mallinfo (*information)(void);

#define MEMBER(name) offsetof(struct vt_mallinfo, name)
static const struct {
    const char *name, *unit, *meaning;
    size_t offset;
} members[] = {
    {"malloc-arena", "B", "memory that malloc has for its arenas", MEMBER(arena)},
    {"malloc-in-use", "B", "memory of arenas in blocks of the program", MEMBER(uordblks)},
    {"malloc-free", "B", "memory of arenas in free blocks", MEMBER(fordblks)},
    {"malloc-mmapped", "#", "blocks that malloc has mapped by themselves", MEMBER(hblks)},
    {"malloc-mmapped-bytes", "B", "memory of blocks that malloc has mapped by themselves", MEMBER(hblkhd)},
};
#define MEMBERS (sizeof members / sizeof *members)

static int list(unsigned i, struct vt_counter *found)
{
    if (i >= MEMBERS) return 0;
    found->number = i;
    found->mode = 'p';
    found->scope = VT_SCOPE_THREAD;
    found->unit = members[i].unit;
    found->meaning = members[i].meaning;
    memcpy(found->name, members[i].name, strlen(members[i].name) + 1);
    return 1;
}

static long open_all(const struct vt_counter *counters, unsigned n, struct vt_provider_state *s, unsigned *failed)
{
    (void)counters;
    (void)n;
    (void)s;
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
    for (unsigned i = 0; i < n; i++)
        memcpy(&values[i], (const char *)&now + members[counters[i].number].offset, sizeof values[i]);
    return 0;
}

const struct vt_provider vt_malloc_counters = {.open = open_all, .read = read_all, .list = list};
