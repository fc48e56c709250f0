/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting processes and waiting for them. core/vfork.c wraps vfork, which must return by a jump. */
#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "procwrap.h"

/* ---- Records, also for exec.c: a region, with the program, the process and the error as attributes ---- */

static _Atomic uint32_t program, process_number, reason;

uint32_t vt_begin_process(struct vt_call *c, const char *path, int starts)
{
    int saved = errno;
    uint64_t words[3];
    uint32_t text = 0, attribute = 0;
    if (vt_shares_memory() || (!starts && !vt_is_recording())) return 0;
    uint32_t region = vt_call_region(c);
    if (region && path) {
        attribute = vt_attribute_id(&program, "program", "Path of the program", VT_TYPE_STRING);
        if (attribute) text = vt_define_text(path);
    }
    if (region && text) {
        words[0] = VT_HEAD(VT_K_ATTRIBUTE, 1, attribute);
        words[1] = text;
        words[2] = VT_HEAD(VT_K_ENTER, 0, region);
        vt_write(words, 3);
    } else if (region) vt_enter(region);
    errno = saved;
    return region;
}

void vt_end_process(uint32_t region, int64_t process, int error)
{
    int saved = errno;
    uint32_t attribute = 0;
    if (!region) return;
    if (error) attribute = vt_attribute_id(&reason, "errno", "Reason why the call failed (errno(3))", VT_TYPE_INT32);
    else if (process > 0)
        attribute = vt_attribute_id(&process_number, "process", "Number of the process", VT_TYPE_INT64);
    if (attribute)
        vt_write_3(VT_HEAD(VT_K_ATTRIBUTE, 1, attribute), error ? (uint64_t)error : (uint64_t)process,
                   VT_HEAD(VT_K_LEAVE, 0, region));
    else vt_leave(region);
    errno = saved;
}

/* ---- fork: from its first event the child is a process of its own, without the open regions of its parent ---- */

static pid_t made(struct vt_call *call)
{
    vt_called_at = VT_CALLED_AT;
    uint32_t region = vt_begin_process(call, NULL, 1);
    __typeof__(fork) *real = vt_call_next(call);
    pid_t pid = real();
    if (pid) vt_end_process(region, pid, pid < 0 ? errno : 0);
    return pid;
}

VT_CALL_EXPORT pid_t fork(void)
{
    static struct vt_call call = VT_CALL_OF(fork);
    return made(&call);
}

VT_CALL_EXPORT pid_t _Fork(void)
{
    static struct vt_call call = VT_CALL_OF(_Fork);
    return made(&call);
}

/* ---- daemon: libc forks, and ends the parent by its own _exit ---- */

static _Thread_local int is_in_daemon;

static void end_parent_of_daemon(void)
{
    if (is_in_daemon) vt_end_for_good();
}

__attribute__((constructor)) static void follow_daemon(void) { pthread_atfork(NULL, end_parent_of_daemon, NULL); }

VT_CALL_EXPORT int daemon(int keeps_directory, int keeps_files)
{
    static struct vt_call call = VT_CALL_OF(daemon);
    vt_called_at = VT_CALLED_AT;
    uint32_t region = vt_begin_process(&call, NULL, 1);
    __typeof__(daemon) *real = vt_call_next(&call);
    is_in_daemon = !vt_shares_memory();
    int r = real(keeps_directory, keeps_files);
    is_in_daemon = 0;
    if (r && !vt_is_other_process()) vt_end_process(region, 0, errno);
    return r;
}

/* ---- vfork: its wrapper calls these functions before and, in the parent, after the system call ---- */

static struct vt_call call_vfork = VT_CALL_OF(vfork);

static void vfork_begins(void) { vt_begin_process(&call_vfork, NULL, 1); }

/* result: of the system call. A child of vfork that calls vfork itself records nothing. */
static int vfork_ends(long result)
{
    if (result < 0) errno = (int)-result;
    if (!vt_shares_memory()) vt_end_process(atomic_load(&call_vfork.region), result, result < 0 ? errno : 0);
    return result < 0 ? -1 : (int)result;
}

__attribute__((constructor)) static void record_vfork(void) { vt_vfork_record(vfork_begins, vfork_ends); }

/* ---- posix_spawn ---- */

#define SPAWNS(function)                                                                                               \
    VT_CALL_EXPORT int function(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,               \
                                const posix_spawnattr_t *attributes, char *const *arguments, char *const *environment) \
    {                                                                                                                  \
        static struct vt_call call = VT_CALL_OF(function);                                                             \
        struct vt_environment room;                                                                                    \
        pid_t child = 0;                                                                                               \
        vt_called_at = VT_CALLED_AT;                                                                                   \
        uint32_t region = vt_begin_process(&call, path, 1);                                                            \
        char **given = vt_environment(environment, &room, path);                                                       \
        __typeof__(function) *real = vt_call_next(&call);                                                              \
        int r = real(&child, path, actions, attributes, arguments, given);                                             \
        if (!r && pid) *pid = child;                                                                                   \
        vt_end_process(region, child, r);                                                                              \
        return r;                                                                                                      \
    }

SPAWNS(posix_spawn)
SPAWNS(posix_spawnp)

/* ---- Shells: libc starts them with the environment of the process ---- */

static void give_back(void *lent)
{
    if (*(int *)lent) vt_lineage_return();
}

VT_CALL_EXPORT int system(const char *command)
{
    static struct vt_call call = VT_CALL_OF(system);
    int r;
    vt_called_at = VT_CALLED_AT;
    uint32_t region = vt_begin_process(&call, command, 1);
    int lent = !vt_shares_memory() && vt_lineage_lend();
    __typeof__(system) *real = vt_call_next(&call);
    pthread_cleanup_push(give_back, &lent); /* a thread may be cancelled in system */
    r = real(command);
    pthread_cleanup_pop(1);
    vt_end_process(region, 0, r == -1 ? errno : 0);
    return r;
}

/* The I/O shim records the region of popen. */
VT_CALL_EXPORT FILE *popen(const char *command, const char *how)
{
    static struct vt_call call = VT_CALL_OF(popen);
    int saved = errno;
    vt_location_of_thread(0);
    int lent = !vt_shares_memory() && vt_lineage_lend();
    errno = saved;
    __typeof__(popen) *real = vt_call_next(&call);
    FILE *file = real(command, how);
    give_back(&lent);
    return file;
}

/* ---- Waiting ---- */

/* Notes the signal that ended a child, which may not have completed its files. */
static void note_signal(pid_t child, int number)
{
    char key[32], text[16];
    const int saved = errno;
    struct vt_location *l = vt_location_of_thread(0);
    struct vt_text t = vt_text_into(key, sizeof key);
    vt_text_add(&t, "ended.");
    vt_text_dec(&t, (uint64_t)child);
    t = vt_text_into(text, sizeof text);
    vt_text_dec(&t, (uint64_t)number);
    if (l) vt_define_property(l, key, text);
    errno = saved;
}

#define WAITS(function, parameters, arguments)                                                                         \
    VT_CALL_EXPORT pid_t function parameters                                                                           \
    {                                                                                                                  \
        static struct vt_call call = VT_CALL_OF(function);                                                             \
        int own = 0;                                                                                                   \
        if (!status) status = &own;                                                                                    \
        vt_called_at = VT_CALLED_AT;                                                                                   \
        uint32_t region = vt_begin_process(&call, NULL, 0);                                                            \
        __typeof__(function) *real = vt_call_next(&call);                                                              \
        pid_t found = real arguments;                                                                                  \
        vt_end_process(region, found, found < 0 ? errno : 0);                                                          \
        if (region && found > 0 && WIFSIGNALED(*status)) note_signal(found, WTERMSIG(*status));                        \
        return found;                                                                                                  \
    }

WAITS(wait, (int *status), (status))
WAITS(waitpid, (pid_t pid, int *status, int options), (pid, status, options))
WAITS(wait3, (int *status, int options, struct rusage *usage), (status, options, usage))
WAITS(wait4, (pid_t pid, int *status, int options, struct rusage *usage), (pid, status, options, usage))

VT_CALL_EXPORT int waitid(idtype_t kind, id_t id, siginfo_t *info, int options)
{
    static struct vt_call call = VT_CALL_OF(waitid);
    vt_called_at = VT_CALLED_AT;
    uint32_t region = vt_begin_process(&call, NULL, 0);
    __typeof__(waitid) *real = vt_call_next(&call);
    int r = real(kind, id, info, options);
    vt_end_process(region, r || !info ? 0 : info->si_pid, r < 0 ? errno : 0);
    const int killed = !r && info && info->si_pid && (info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED);
    if (region && killed) note_signal(info->si_pid, info->si_status);
    return r;
}
