/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that MPI starts later, and connections to other worlds. A spawned process reads its run and the id of the
   call from its environment. vtrace sends the child no message, since the child may be a program that is not traced.
   env(1) sets the environment: not all MPI libraries take environment variables by MPI_Info, and those that do limit
   them to 256 characters. */
#include "mpiwrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define VT_ENV "/usr/bin/env"
#define VT_SPAWN "VTRACE_SPAWN"
#define VT_SPAWN_TEXT 64

extern char **environ;

static bool vt_is_inherited(const char *variable)
{
    return !strncmp(variable, "VT_", 3) || (!strncmp(variable, "LD_PRELOAD=", 11) && strstr(variable, "libvtrace"));
}

/* ---- Keys of info objects with the location of a program. vtrace notes a key when the program sets the key: the handle that
   MPI_Comm_spawn gets may be invalid, and asking MPI about an invalid handle would call an error handler of the
   program. ---- */

enum { VT_INFO_PATH = 1, VT_INFO_DIRECTORY = 2 };

static struct vt_mpi_objects vt_infos;

static unsigned vt_info_keys(MPI_Info info)
{
    uint64_t keys = 0;
    vt_mpi_object_noted(&vt_infos, VT_HANDLE(info), &keys);
    return (unsigned)keys;
}

static void vt_info_note(MPI_Info info, unsigned keys)
{
    if (keys || vt_info_keys(info)) vt_mpi_object_note(&vt_infos, VT_HANDLE(info), keys);
}

void vt_mpi_info_made(MPI_Info info, const MPI_Info *from, bool anything)
{
    vt_info_note(info, anything ? VT_INFO_PATH : from ? vt_info_keys(*from) : 0);
}

void vt_mpi_info_set(MPI_Info info, const char *key, bool there)
{
    const unsigned bit = !strcmp(key, "path") ? VT_INFO_PATH : !strcmp(key, "wdir") ? VT_INFO_DIRECTORY : 0;
    if (bit) vt_info_note(info, there ? vt_info_keys(info) | bit : vt_info_keys(info) & ~bit);
}

/* Returns the reason why env cannot start the program that MPI would start; NULL: env can. In such a case MPI starts
   the program itself, or reports the error. */
static const char *vt_env_obstacle(const char *command, MPI_Info info)
{
    char text[4096];
    if (access(VT_ENV, X_OK)) return "there is no " VT_ENV ", which passes on the settings";
    const unsigned keys = info == MPI_INFO_NULL ? 0 : info == MPI_INFO_ENV ? VT_INFO_PATH : vt_info_keys(info);
    if (keys & VT_INFO_PATH)
        return "the key path of its info object may refer to any program; give an absolute path instead of the key";
    if (keys && *command != '/')
        return "the key wdir of its info object changes the directory of a relative command; give an absolute path";
    if (strchr(command, '/')) return access(command, X_OK) ? "it cannot be executed here" : NULL;
    for (const char *at = getenv("PATH"); at && *at; at += strspn(at, ":")) {
        const int length = (int)strcspn(at, ":");
        snprintf(text, sizeof text, "%.*s/%s", length, at, command);
        if (!access(text, X_OK)) return NULL;
        at += length;
    }
    return "it is in no directory of PATH; give an absolute path";
}

static size_t vt_count(char *const *words)
{
    size_t n = 0;
    while (words && words[n]) n++;
    return n;
}

/* Stores the arguments of env for a command with its own arguments. Returns the address after them. */
static char **vt_put_arguments(char **at, char *spawn, const char *command, char *const *arguments)
{
    const char *run = vt_run_variable();
    for (char **e = environ; e && *e; e++)
        if (vt_is_inherited(*e)) *at++ = *e;
    if (run) *at++ = (char *)(uintptr_t)run;
    *at++ = spawn;
    *at++ = (char *)(uintptr_t)command;
    for (; arguments && *arguments; arguments++) *at++ = *arguments;
    *at++ = NULL;
    return at;
}

static void vt_prepare(struct vt_mpi_spawn *spawn, size_t n, const char *const *commands, char *const *const *argvs,
                       const MPI_Info *infos)
{
    size_t words = 2 * n + VT_SPAWN_TEXT / sizeof(char *);
    for (size_t i = 0; i < n; i++) {
        const char *why = vt_env_obstacle(commands[i], infos ? infos[i] : MPI_INFO_NULL);
        if (why) {
            vt_warn_left_out("processes", "processes that MPI_Comm_spawn starts from %s are not part of this run: %s",
                             commands[i], why);
            return;
        }
        words += vt_count(environ) + vt_count(argvs ? argvs[i] : NULL) + 4;
    }
    spawn->bytes = words * sizeof(char *);
    spawn->commands = vt_pages(spawn->bytes);
    if (!spawn->commands) {
        vt_warn_left_out("processes",
                         "processes that MPI_Comm_spawn starts from %s are not part of this run: no memory",
                         commands[0]);
        return;
    }
    spawn->argvs = (char ***)(spawn->commands + n);
    char *text = (char *)(spawn->argvs + n);
    char **at = (char **)(text + VT_SPAWN_TEXT);
    snprintf(text, VT_SPAWN_TEXT, VT_SPAWN "=%llx", (unsigned long long)spawn->id);
    for (size_t i = 0; i < n; i++) {
        spawn->commands[i] = (char *)(uintptr_t)VT_ENV;
        spawn->argvs[i] = at;
        at = vt_put_arguments(at, text, commands[i], argvs ? argvs[i] : NULL);
    }
}

/* Prepares the commands that MPI starts in place of the program's, at the root. If the children cannot get their run,
   spawn->commands stays NULL and the program's commands are started. */
void vt_mpi_spawn_begin(struct vt_mpi_spawn *spawn, MPI_Comm comm, int root, int n, const char *const *commands,
                        char *const *const *argvs, const MPI_Info *infos)
{
    const struct vt_mpi_comm *c = vt_mpi_comm(comm);
    *spawn = (struct vt_mpi_spawn){.id = 0};
    /* an error that MPI reports, or a communicator that other members may not know: they would not take part */
    if (!c || c->unseen || c->remote || root < 0 || (uint32_t)root >= c->size) return;
    if (c->rank == (uint32_t)root && commands && n > 0) {
        spawn->id = (int64_t)(vt_random() >> 1);
        vt_prepare(spawn, (size_t)n, commands, argvs, infos);
    }
    if (PMPI_Bcast(&spawn->id, 1, MPI_INT64_T, root, comm) != MPI_SUCCESS) vt_mpi_spawn_done(spawn);
}

void vt_mpi_spawn_done(struct vt_mpi_spawn *spawn)
{
    if (spawn->commands) syscall(SYS_munmap, spawn->commands, spawn->bytes);
    spawn->commands = NULL;
}

/* In a spawned process the communicator with its parents exists from the start. */
void vt_mpi_spawned(void)
{
    MPI_Comm parent = MPI_COMM_NULL;
    const char *text = getenv(VT_SPAWN);
    if (!text || PMPI_Comm_get_parent(&parent) != MPI_SUCCESS || parent == MPI_COMM_NULL) return;
    const struct vt_mpi_origin origin = {
        .kind = VT_COMM_SPAWN, .tag = (int64_t)strtoull(text, NULL, 16), .counted = true};
    vt_mpi_comm_lock();
    struct vt_mpi_comm *c = vt_mpi_comm_find(parent) ? NULL : vt_mpi_comm_add(parent, &origin);
    if (c) vt_mpi_comm_link(c, parent);
    vt_mpi_comm_unlock();
}

/* Called after MPI_Comm_accept, MPI_Comm_connect or MPI_Comm_join. Both sides know the port and the time at which they
   connected. The accepting side uses an even time, the other side an odd one. */
struct vt_mpi_origin vt_mpi_connection(MPI_Comm comm, int root, const char *port, bool accepts)
{
    struct {
        int64_t port, time;
    } known = {0, 0};
    int rank = 0;
    struct timespec now;
    if (PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS && rank == root) {
        clock_gettime(CLOCK_REALTIME, &now);
        known.time = ((now.tv_sec * 1000000000 + now.tv_nsec) & ~INT64_C(1)) | !accepts;
        known.port = (int64_t)(vt_checksum(0, port, strlen(port)) >> 1);
    }
    if (PMPI_Bcast(&known, 2, MPI_INT64_T, root, comm) != MPI_SUCCESS) known.port = known.time = 0;
    return (struct vt_mpi_origin){
        .kind = VT_COMM_CONNECT, .tag = known.port, .counted = true, .count = (uint64_t)known.time};
}
