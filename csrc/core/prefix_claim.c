/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides which run may use the file names PREFIX.*. Another run gets a number, which vtrace appends to its prefix: if
   VT_FILE_UNIQUE asks for a number, or if a run that has not ended uses the names. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include "settings.h"

#define CLAIM_WAIT 5000 /* in tenths of a millisecond: limit for the wait for the lock */
#define SECOND 1000000000u

/* Programs with the same prefix must not take each other's names. A process must hold the lock on this descriptor to
   look at the names, to take a number, or to rename files. If the file system has no flock, or the wait is too long,
   the process continues without the lock. */
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
    vt_text_add(&t, vt_process.set.gdir, "/", vt_process.set.base, ending);
}

static uint64_t number_at(const char *text)
{
    uint64_t v = 0;
    for (; *text >= '0' && *text <= '9' && v <= VT_COUNT_MOST * UINT64_C(1000000000); text++)
        v = v * 10 + (uint64_t)(*text - '0');
    return v;
}

/* Returns 1 if a process of this host exists that started before the given time (ns since the epoch). */
static int is_alive(uint32_t pid, uint64_t before)
{
    struct vt_process_stat stat;
    if (!vt_process_stat(pid, &stat) || stat.state == 'Z') return 0;
    uint64_t up = vt_clock_ns(CLOCK_BOOTTIME), began = stat.began * (SECOND / 100), real = vt_clock_ns(CLOCK_REALTIME);
    return real - (up - began) <= before + 2 * (uint64_t)SECOND; /* a process that started later may have the same id */
}

/* Returns 1 if the process id in a head of this host is one that this process may look for. */
static int knows_pid(const struct vt_file *h)
{
    const uint64_t own = vt_process.head.pid_space;
    return !h->pid_space || (h->pid_space == own && own != VT_NO_PID_SPACE);
}

/* Returns 1 if the control file belongs to the run in this head. A run writes the control file when it completes its
   files. */
static int is_complete(const struct vt_file *h)
{
    static char path[VT_PATH], text[256];
    char run[40] = "run ";
    struct vt_text t = vt_text_into(run + 4, sizeof run - 4);
    vt_text_run(&t, h->run);
    path_with(path, ".uctl");
    return vt_read_plain(path, text, sizeof text) > 0 && strstr(text, run);
}

/* Finds the run that has the names of rank 0 under the prefix. VT_NAMES_OURS: this run; another process of the run,
   such as a sibling after a fork, took the names. VT_NAMES_OTHERS: another run, which has not ended or completed its
   files after this run started. VT_NAMES_FREE: no run needs the names. h receives the head of the other run's file. */
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
    if (!strcmp(h->host, own->host) && knows_pid(h))
        return is_alive(h->pid, h->start) ? VT_NAMES_OTHERS : VT_NAMES_FREE;
    return is_complete(h) ? VT_NAMES_FREE : VT_NAMES_OTHERS;
}

/* Returns 1 if another user has files with the names of rank 0. This process must not read or replace these files. */
static int is_foreign(const char *prefix)
{
    static const char *const endings[] = {".1.def", ".1.events", ".uctl"};
    static char path[VT_PATH];
    for (int i = 0; i < 3; i++) {
        struct vt_text t = vt_text_into(path, sizeof path);
        vt_text_add(&t, vt_process.set.gdir, "/", prefix, endings[i]);
        if (i < 2 && vt_process.set.compression) vt_text_add(&t, ".z");
        if (vt_is_foreign(path)) return 1;
    }
    return 0;
}

/* Returns the next number. The lock file holds the number of the last run (guide 4.2.3.5). */
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

/* Gives the run its number if it needs one. The process that becomes rank 0 calls this function and holds the lock of
   vt_names_claim. */
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
        vt_say(1, "another user has files named %s in this directory: this run names its files %s", set->base,
               set->prefix);
    else if (names == VT_NAMES_OTHERS)
        vt_say(1, "another run (process %u on %.64s) has files named %s in this directory: this run names its files %s",
               other.pid, other.host, set->base, set->prefix);
    return VT_NAMES_FREE;
}
