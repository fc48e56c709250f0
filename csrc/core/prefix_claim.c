/* SPDX-License-Identifier: BSD-3-Clause */
/* Which run the names PREFIX.* belong to, and the number that another run puts behind its prefix: VT_FILE_UNIQUE, or because
   a run that is not over has the names. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include "clock.h"
#include "file_locations.h"
#include "launcher.h"
#include "prefix_claim.h"
#include "safe_files.h"
#include "sys.h"
#include "text.h"

#define CLAIM_WAIT 5000 /* tenths of a millisecond */
#define SECOND 1000000000u

/* Programs with one prefix must not take each other's names: who holds this descriptor may look, count and rename. Where the
   file system has no such locks, or they do not come free, it locks nothing. */
long vt_names_claim(void)
{
    long fd = vt_open(vt_process.set.gdir, O_RDONLY | O_DIRECTORY, 0);
    for (int i = 0; fd >= 0 && i < CLAIM_WAIT; i++) {
        if (VT_SYS2(flock, fd, LOCK_EX | LOCK_NB) != -EWOULDBLOCK) return fd;
        vt_pause();
    }
    return fd;
}

void vt_names_disclaim(long fd)
{
    if (fd >= 0) VT_SYS1(close, fd);
}

static void path_with(char *into, const char *ending)
{
    struct vt_text t = vt_text_into(into, VT_PATH);
    vt_text_add(&t, vt_process.set.gdir);
    vt_text_add(&t, "/");
    vt_text_add(&t, vt_process.set.base);
    vt_text_add(&t, ending);
}

static uint64_t number_at(const char *text)
{
    uint64_t v = 0;
    for (; *text >= '0' && *text <= '9' && v <= VT_COUNT_MOST * UINT64_C(1000000000); text++)
        v = v * 10 + (uint64_t)(*text - '0');
    return v;
}

/* 1: a process of this host that started before that time (ns since the epoch) still exists. */
static int is_alive(uint32_t pid, uint64_t before)
{
    struct vt_process_look look;
    if (!vt_process_look(pid, &look) || look.state == 'Z') return 0;
    uint64_t up = vt_clock_ns(CLOCK_BOOTTIME), began = look.began * (SECOND / 100), real = vt_clock_ns(CLOCK_REALTIME);
    return real - (up - began) <= before + 2 * (uint64_t)SECOND; /* another process may have got the number since */
}

/* 1: the control file, which a run writes when it completes its files, is of the run with this head. */
static int is_complete(const struct vt_file *h)
{
    static char path[VT_PATH], text[256];
    char run[40] = "run ";
    struct vt_text t = vt_text_into(run + 4, sizeof run - 4);
    for (int i = 0; i < 16; i++) {
        vt_text_hex(&t, h->run[i] >> 4);
        vt_text_hex(&t, h->run[i] & 15);
    }
    path_with(path, ".uctl");
    return vt_read_plain(path, text, sizeof text) > 0 && strstr(text, run);
}

/* The run that has the names of rank 0 under the prefix: this one, such as a sibling after a fork; another one that is not over
   or that completed its files since this one started; or none that still needs them. h: the head of that run's file. */
static enum vt_names state_of_names(struct vt_file *h)
{
    static char path[VT_PATH];
    const struct vt_file *own = &vt_process.head;
    struct stat s;
    path_with(path, vt_process.set.compression ? ".1.def.z" : ".1.def");
    long fd = vt_open_plain(path, &s), n = 0;
    if (fd < 0) return VT_NAMES_FREE;
    n = VT_SYS4(pread64, fd, h, sizeof *h, 0);
    VT_SYS1(close, fd);
    if (n != sizeof *h || memcmp(h->magic, VT_FILE_MAGIC, sizeof h->magic)) return VT_NAMES_FREE;
    h->host[sizeof h->host - 1] = 0;
    if (!memcmp(h->run, own->run, sizeof h->run)) return VT_NAMES_OURS;
    if ((uint64_t)s.st_mtim.tv_sec * SECOND + (uint64_t)s.st_mtim.tv_nsec >= own->start) return VT_NAMES_OTHERS;
    if (!strcmp(h->host, own->host)) return is_alive(h->pid, h->start) ? VT_NAMES_OTHERS : VT_NAMES_FREE;
    return is_complete(h) ? VT_NAMES_FREE : VT_NAMES_OTHERS;
}

/* 1: another user has files with the names of rank 0, which this process must neither read nor replace. */
static int is_foreign(const char *prefix)
{
    static const char *const endings[] = {".1.def", ".1.events", ".uctl"};
    static char path[VT_PATH];
    for (int i = 0; i < 3; i++) {
        struct vt_text t = vt_text_into(path, sizeof path);
        vt_text_add(&t, vt_process.set.gdir);
        vt_text_add(&t, "/");
        vt_text_add(&t, prefix);
        vt_text_add(&t, endings[i]);
        if (i < 2 && vt_process.set.compression) vt_text_add(&t, ".z");
        if (vt_is_foreign(path)) return 1;
    }
    return 0;
}

/* The next number; the lock file holds the last one (guide 4.2.3.5). */
static uint32_t next_count(void)
{
    static char path[VT_PATH], temporary[VT_PATH], text[32];
    path_with(path, ".lock");
    uint64_t n = vt_read_plain(path, text, sizeof text) > 0 ? number_at(text) + 1 : 1;
    if (n > VT_COUNT_MOST) n = 1;
    struct vt_text t = vt_text_into(text, sizeof text);
    vt_text_dec(&t, n);
    vt_text_add(&t, "\n");
    long r = vt_put_file(path, temporary, text);
    if (r < 0) vt_warn("%s cannot be written (%s): another run may get the same number", path, vt_reason(r));
    return (uint32_t)n;
}

/* Gives the run its number, if it is to have one. Under the claim, by the process that is to be rank 0. */
enum vt_names vt_names_settle(void)
{
    static struct vt_file other;
    struct vt_settings *set = &vt_process.set;
    if (set->count) return VT_NAMES_FREE;
    int unique = set->unique == VT_UNIQUE_YES, foreign = !unique && is_foreign(set->base);
    enum vt_names names = unique ? VT_NAMES_FREE : foreign ? VT_NAMES_OTHERS : state_of_names(&other);
    if (!unique && names != VT_NAMES_OTHERS) return names;
    uint32_t n = next_count();
    vt_place_count(set, n);
    while (n < VT_COUNT_MOST && is_foreign(set->prefix)) vt_place_count(set, ++n);
    if (foreign)
        vt_say(1, "another user has files called %s in this directory: those of this run are called %s", set->base,
               set->prefix);
    else if (names == VT_NAMES_OTHERS)
        vt_say(
            1,
            "another run (process %u on %.64s) has files called %s in this directory: those of this run are called %s",
            other.pid, other.host, set->base, set->prefix);
    return VT_NAMES_FREE;
}
