/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a location with few events, or the events of a window of it, in one call: a run of 10 000 ranks has many of
   them, and each call from Python takes as long as tens of events. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "readback.h"

#define SHORT 8 /* bytes of a file of a location with few events, for each event of a batch; an event has about 12 */
#define EMPTY 20 /* bytes of a file with only the head of a chunk and the records at its end */

static const char ends[] = {2, 1}; /* the records at the end of each file: of its last chunk and of the file */

static struct {
    void *(*get)(void *, uint64_t);
    int32_t (*use)(void *, void *, void *, void *);
    int32_t (*seek)(void *, uint64_t);
    int32_t (*read)(void *, void *, uint64_t, uint64_t *);
    int32_t (*close)(void *, void *);
} otf2;

VT_EXPORT int vt_short_location_find(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return !(library && VT_FIND(otf2.get, "Reader_GetEvtReader") && VT_FIND(otf2.use, "Reader_RegisterEvtCallbacks") &&
             VT_FIND(otf2.seek, "EvtReader_Seek") && VT_FIND(otf2.read, "Reader_ReadLocalEvents") &&
             VT_FIND(otf2.close, "Reader_CloseEvtReader"));
}

/* A pipe must not stop the reader. */
static int open_file(const char *name) { return open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK); }

/* Returns 1 if the file of local definitions is missing or has none. */
static int has_no_definitions(const char *name)
{
    char head[EMPTY + 1];
    const int file = open_file(name);
    if (file < 0) return errno == ENOENT;
    const ssize_t n = read(file, head, sizeof head);
    close(file);
    return n == EMPTY && !memcmp(head + EMPTY - sizeof ends, ends, sizeof ends);
}

/* Returns the size of a whole file of events, at least the number of its events; 0 for others. */
static uint64_t size_of(const char *name)
{
    char last[sizeof ends];
    struct stat found;
    const int file = open_file(name);
    if (file < 0) return 0;
    const int whole = !fstat(file, &found) && S_ISREG(found.st_mode) && found.st_size > (off_t)sizeof ends &&
                      pread(file, last, sizeof last, found.st_size - (off_t)sizeof last) == sizeof last &&
                      !memcmp(last, ends, sizeof ends);
    close(file);
    return whole ? (uint64_t)found.st_size : 0;
}

VT_EXPORT int64_t vt_read_short_location(void *reader, void *callbacks, const char *folder, uint64_t location,
                                         uint64_t first, struct vt_batch *b)
{
    char name[4096];
    uint64_t count = 0;
    const int length = snprintf(name, sizeof name - 4, "%s/%llu.", folder, (unsigned long long)location);
    if (length < 0 || (size_t)length >= sizeof name - 4) return -1;
    strcpy(name + length, "def");
    if (!has_no_definitions(name)) return -1;
    strcpy(name + length, "evt");
    const uint64_t size = size_of(name);
    if (!size || size > SHORT * b->capacity) return -1;
    void *events = otf2.get(reader, location);
    if (!events) return -1;
    const uint64_t most = size < b->capacity ? size : b->capacity;
    int failed = otf2.use(reader, events, callbacks, b) || (first > 1 && otf2.seek(events, first));
    if (!failed) failed = otf2.read(reader, events, most, &count) && !b->ended;
    otf2.close(reader, events);
    return failed || b->out_of_room || (count == most && most < size) ? -1 : (int64_t)count;
}
