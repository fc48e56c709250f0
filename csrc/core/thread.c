/* SPDX-License-Identifier: BSD-3-Clause */
/* How threads begin, what they are called, and how they end: then a later thread may take over their location. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include "record.h"

#define INNER_KEYS 32 /* pthread keys below this need no memory (glibc) */

static pthread_key_t at_end;

/* The name that the thread has by now, which must not be the one that all have from the program's file. */
const char *vt_thread_name(struct vt_location *l)
{
    char path[64], name[sizeof l->name] = "";
    if (!l->number) return NULL;
    if (l == vt_own_location) VT_SYS2(prctl, PR_GET_NAME, name);
    else {
        struct vt_text t = vt_text_into(path, sizeof path);
        vt_text_add(&t, "/proc/self/task/");
        vt_text_dec(&t, VT_READ(l->thread));
        vt_text_add(&t, "/comm");
        long n = vt_read_file(path, name, sizeof name);
        if (n <= 0) return NULL;
        if (name[n - 1] == '\n') name[n - 1] = 0;
    }
    if (!*name || !strcmp(name, vt_process.name)) return NULL;
    memcpy(l->name, name, sizeof name);
    return l->name;
}

static void tell_name(struct vt_location *l)
{
    char before[sizeof l->name];
    memcpy(before, l->name, sizeof before);
    const char *name = vt_thread_name(l);
    if (!name || !memcmp(before, name, sizeof before)) return;
    struct vt_mp m = vt_define_begin(l, 64);
    vt_mp_array(&m, 5);
    vt_mp_uint(&m, VT_D_LOCATION);
    vt_mp_uint(&m, l->number);
    vt_mp_uint(&m, l->thread);
    vt_mp_str(&m, name);
    vt_mp_uint(&m, l->first);
    vt_define_end(l, &m);
}

static _Thread_local const char *helped __attribute__((tls_model("initial-exec")));

void vt_thread_helps(const char *library) { helped = library; }

const char *vt_thread_helper(void) { return helped; }

static void (*_Atomic shim_at_end)(void);
void vt_at_thread_end(void (*call)(void)) { atomic_store(&shim_at_end, call); }

/* An exit handler of the thread; what other handlers record comes first, as far as they run in the first round. */
static void on_thread_end(void *location)
{
    struct vt_location *l = location;
    int saved = errno;
    if (l != vt_own_location || !l->in_use) return; /* in a forked child */
    if (!l->late) {
        l->late = 1;
        if (!pthread_setspecific(at_end, l)) return;
    }
    void (*call)(void) = atomic_load(&shim_at_end);
    if (call) call();
    if (atomic_load(&vt_process.state) == VT_ON) tell_name(l);
    if (l->begun) vt_write_2(VT_HEAD(VT_K_THREAD_END, 1, 0), l->begun);
    l->begun = 0;
    if (!vt_process.set.pthread_reuse && atomic_load(&vt_process.state) == VT_ON) vt_location_complete(l);
    atomic_store(&l->ended, 1);
    atomic_fetch_add(&vt_process.ended, 1);
    errno = saved;
}

int vt_thread_start(void)
{
    char name[sizeof vt_process.name + 1];
    if (vt_read_file("/proc/self/comm", name, sizeof name) > 0) memcpy(vt_process.name, name, strcspn(name, "\n"));
    return !pthread_key_create(&at_end, on_thread_end) && at_end < INNER_KEYS;
}

void vt_thread_watch(struct vt_location *l) { pthread_setspecific(at_end, l); }

void vt_thread_begins(uint64_t number)
{
    vt_write_2(VT_HEAD(VT_K_THREAD_BEGIN, 1, 0), number);
    if (vt_own_location && !vt_own_location->off) vt_own_location->begun = number;
}
