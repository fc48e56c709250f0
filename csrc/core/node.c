/* SPDX-License-Identifier: BSD-3-Clause */
/* A file that all ranks of a run on a node map: the iterations that they keep (VT_KEEP=slowest), and how often a trigger
   has fired (VT_TRIGGER). No rank waits for another one. Processes of other nodes have files of their own, since a network
   file system does not keep mappings of several nodes equal. Without the file each rank chooses alone. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "location.h"

#define VERDICTS 16383u /* a full chunk has at most 4096 iterations */

struct shared {
    _Atomic uint32_t fires, ended; /* number of times that the trigger has fired; ranks that have ended */
    _Atomic uint64_t verdicts[VERDICTS]; /* number of an iteration * 2, plus 1 if it stays */
};

static void *mapped; /* struct shared */
static _Atomic uint32_t tried, seen; /* 1: do not try again; number of times that this process has noticed */

/* Host and run make the name the node's and the run's. */
static void name_file(char *path)
{
    const struct vt_file *h = &vt_process.head;
    struct vt_text t = vt_text_into(path, VT_PATH);
    vt_text_add(&t, vt_process.set.gdir, "/", vt_process.set.base, ".x", h->host, "-0-");
    vt_text_run(&t, h->run);
    vt_text_add(&t, ".node");
}

static long open_file(const char *path)
{
    struct vt_identity made;
    struct stat s;
    long fd = vt_create(path, 0600, &made);
    if (fd != -EEXIST) return fd;
    fd = vt_open(path, O_RDWR | O_NOFOLLOW, 0);
    if (fd < 0 || (!VT_SYS2(fstat, fd, &s) && S_ISREG(s.st_mode) && s.st_uid == (uint32_t)VT_SYS0(geteuid))) return fd;
    VT_SYS1(close, fd);
    return -EPERM;
}

/* Any rank may give the file its blocks: a full disk must not fail at a store. */
static long map_file(void)
{
    char path[VT_PATH];
    uint64_t mask;
    name_file(path);
    const long fd = open_file(path);
    if (fd < 0) return fd;
    vt_hold_signals(&mask);
    long r = vt_written(VT_SYS4(fallocate, fd, 0, 0, sizeof(struct shared)));
    vt_release_signals(&mask);
    if (r >= 0) r = VT_SYS6(mmap, 0, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    else VT_SYS3(unlinkat, AT_FDCWD, path, 0);
    VT_SYS1(close, fd);
    return r;
}

/* Ranks before MPI_Init, children, and the only process of a node choose alone. */
static struct shared *of_node(void)
{
    const struct vt_file *h = &vt_process.head;
    if (h->world_size < 2 || vt_process.set.processes < 2 || h->forked & VT_INHERITS) return NULL;
    if (!atomic_exchange(&tried, 1)) {
        const long r = map_file();
        if (r < 0 && r > -4096)
            vt_warn("the ranks of a node share no file (%s): each rank applies VT_KEEP and VT_TRIGGER alone; set "
                    "VT_PFORM_GDIR to another directory",
                    vt_reason(r));
        else __atomic_store_n(&mapped, (void *)r, __ATOMIC_RELEASE);
    }
    return __atomic_load_n(&mapped, __ATOMIC_ACQUIRE);
}

int vt_node_keeps(uint64_t number, int keeps, int insists)
{
    struct shared *s = of_node();
    const uint64_t own = number << 1 | (uint64_t)keeps;
    if (!s) return keeps;
    _Atomic uint64_t *verdict = &s->verdicts[number % VERDICTS];
    for (uint64_t now = atomic_load(verdict);;) {
        if (now >> 1 > number) return keeps; /* other ranks are far ahead */
        if (now >> 1 == number && (now & 1 || !insists)) return now & 1;
        if (atomic_compare_exchange_weak(verdict, &now, own)) return keeps;
    }
}

void vt_node_fire(void)
{
    struct shared *s = of_node();
    if (s) atomic_store(&seen, atomic_fetch_add(&s->fires, 1) + 1);
}

int vt_node_has_fired(void)
{
    struct shared *s = of_node();
    const uint32_t fires = s ? atomic_load(&s->fires) : 0;
    return s && atomic_exchange(&seen, fires) != fires;
}

void vt_node_end(void)
{
    char path[VT_PATH];
    struct shared *s = *vt_process.set.keep || *vt_process.set.trigger ? of_node() : NULL;
    if (!s || atomic_fetch_add(&s->ended, 1) + 1 != vt_process.set.processes) return;
    name_file(path);
    VT_SYS3(unlinkat, AT_FDCWD, path, 0);
}
