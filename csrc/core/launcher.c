/* SPDX-License-Identifier: BSD-3-Clause */
/* Launchers of parallel programs and their helper processes. If a script under `vtrace run` starts a job, LD_PRELOAD
   loads the library into the launcher too. Launchers are not traced, but pass their environment to the ranks. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "settings.h"

#define ANCESTORS 64 /* maximum number of ancestors to examine */

static const char *const beginnings[] = {"mpiexec", "mpirun", "ompirun", "hydra_", "orte", "prte", "flux"};
static const char *const names[] = {"orted", "prun", "srun",  "slurmstepd", "aprun", "apinit",
                                    "jsrun", "jsmd", "palsd", "ssh",        "rsh"};

static int is_launcher(const char *name)
{
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (!strncmp(name, beginnings[i], strlen(beginnings[i]))) return 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i])) return 1;
    return 0;
}

/* Only a preloaded library checks the name: a program that is linked with vtrace may have any name. */
int vt_is_launcher(void)
{
    static char path[PATH_MAX];
    const char *preload = getenv("LD_PRELOAD");
    if (!preload || !strstr(preload, "libvtrace")) return 0;
    vt_executable(path, sizeof path);
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    return is_launcher(name);
}

/* Format, see proc(5): pid (comm) state ppid ...; the start time is the 20th field after the state. */
int vt_process_stat(uint32_t pid, struct vt_process_stat *stat)
{
    static char text[1024];
    char path[32];
    struct vt_text t = vt_text_into(path, sizeof path);
    vt_text_add(&t, "/proc/");
    vt_text_dec(&t, pid);
    vt_text_add(&t, "/stat");
    if (vt_read_file(path, text, sizeof text) <= 0) return 0;
    const char *name = strchr(text, '('), *at = strrchr(text, ')');
    if (!name || !at || strlen(at) < 3) return 0;
    stat->state = at[2];
    t = vt_text_into(stat->name, sizeof stat->name);
    for (name++; name < at; name++) vt_text_add(&t, (char[]){*name, 0});
    stat->parent = (uint32_t)strtoul(at + 3, NULL, 10);
    for (int i = 0; i < 20 && at; i++) at = strchr(at + 1, ' ');
    if (at) stat->began = strtoull(at, NULL, 10);
    return at != NULL;
}

/* On each host, all programs that a launcher starts belong to one run, such as shells and programs without MPI. These
   programs share the launcher's helper as their parent, and the job id. The run id is a checksum of both. Programs that
   Hydra starts for MPI_Comm_spawn have the helper of their parents and no job id: these are a run of their own, unless
   VTRACE_PARENT names the run. */
void vt_launcher_run(struct vt_file *h)
{
    static char text[1024];
    static const char *const jobs[] = {"PMIX_NAMESPACE", "PMI_JOBID", "SLURM_JOB_ID", "SLURM_STEP_ID"};
    struct vt_process_stat parent;
    const uint32_t pid = (uint32_t)VT_SYS0(getppid);
    if (getenv("PMI_SPAWNED") || !vt_launcher_rank() || !vt_process_stat(pid, &parent) || !is_launcher(parent.name))
        return;
    struct vt_text t = vt_text_into(text, sizeof text);
    vt_text_add(&t, h->host, " ");
    vt_text_dec(&t, pid);
    vt_text_add(&t, " ");
    vt_text_dec(&t, parent.began);
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        const char *job = getenv(jobs[i]);
        vt_text_add(&t, " ", job ? job : "");
    }
    const uint64_t run[2] = {vt_checksum(1, text, (size_t)(t.at - text)), vt_checksum(2, text, (size_t)(t.at - text))};
    memcpy(h->run, run, sizeof h->run);
}

/* Known launchers: the name of the process that starts the ranks on each host, and the variables with the number of
   ranks and the rank. Open MPI's mpiexec, and MPICH's with gforker, start the ranks on their own host themselves. */
static const struct launcher {
    const char *helper, *size, *rank, *name;
} launchers[] = {
    {"hydra_", "PMI_SIZE", "PMI_RANK", "MPICH's mpiexec (Hydra)"},
    {"orted", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "Open MPI's mpiexec"},
    {"prte", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "Open MPI's mpiexec (PRRTE)"},
    {"orterun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "Open MPI's mpiexec"},
    {"mpi", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "Open MPI's mpiexec"},
    {"mpi", "PMI_SIZE", "PMI_RANK", "MPICH's mpiexec"},
    {"slurmstepd", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun"},
    {"flux", "FLUX_JOB_SIZE", "FLUX_TASK_RANK", "flux"},
    {"jsmd", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK", "jsrun"},
};

uint64_t vt_launcher_ranks(void)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        const char *size = getenv(launchers[i].rank) ? getenv(launchers[i].size) : NULL;
        const unsigned long n = size && *size >= '0' && *size <= '9' ? strtoul(size, NULL, 10) : 0;
        if (n && n < VT_NO_RANK) return n;
    }
    return 0;
}

static const struct launcher *launcher_called(const char *name)
{
    if (!is_launcher(name)) return NULL;
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (!strncmp(name, launchers[i].helper, strlen(launchers[i].helper)) && getenv(launchers[i].size))
            return &launchers[i];
    return NULL;
}

/* 1: the process has loaded an MPI library but not vtrace. 0 also if its mappings are not readable: the process then
   belongs to another user, and is not a rank. */
static int is_untraced_rank(uint32_t pid)
{
    static char text[2 * PATH_MAX];
    char path[32];
    int mpi = 0, traced = 0;
    size_t kept = 0;
    struct vt_text t = vt_text_into(path, sizeof path);
    vt_text_add(&t, "/proc/");
    vt_text_dec(&t, pid);
    vt_text_add(&t, "/maps");
    long fd = vt_open(path, O_RDONLY, 0), n;
    while (fd >= 0 && (n = VT_SYS3(read, fd, text + kept, sizeof text - 1 - kept)) > 0) {
        text[kept + (size_t)n] = 0;
        mpi |= strstr(text, "/libmpi") != NULL;
        traced |= strstr(text, "/libvtrace") != NULL;
        const char *line = strrchr(text, '\n'); /* the next read may continue this line */
        kept = line ? strlen(line) : 0;
        if (kept) memmove(text, line, kept);
    }
    if (fd >= 0) VT_SYS1(close, fd);
    return mpi && !traced;
}

/* The nearest launcher among the ancestors decides, and must have set the rank and a number of ranks above 1. A program
   that a rank starts inherits the launcher's variables, but is not a rank. */
int vt_find_launcher(struct vt_launched *launched)
{
    struct vt_process_stat stat;
    const struct launcher *found = NULL;
    uint32_t pid = (uint32_t)VT_SYS0(getppid);
    if (vt_lineage_has_rank()) return 0;
    for (int i = 0; i < ANCESTORS && !found; i++, pid = stat.parent) {
        if (pid <= 1 || !vt_process_stat(pid, &stat)) return 0;
        found = launcher_called(stat.name);
        if (!found && is_untraced_rank(pid)) return 0;
    }
    const char *rank = found ? getenv(found->rank) : NULL;
    if (!rank || *rank < '0' || *rank > '9') return 0;
    unsigned long of = strtoul(getenv(found->size), NULL, 10), number = strtoul(rank, NULL, 10);
    if (of < 2 || of >= VT_NO_RANK || number >= of) return 0;
    *launched = (struct vt_launched){found->name, (uint32_t)number, (uint32_t)of};
    return 1;
}
