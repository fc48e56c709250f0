/* SPDX-License-Identifier: BSD-3-Clause */
/* Launchers of parallel programs and their helpers: a preloaded library comes into them where a script under `vtrace run`
   starts a job. They are not what the user wants to see; their environment goes to the ranks, which are.               */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"

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

/* 1: this process is one. A program that is linked with vtrace may be called what it likes. */
int vt_is_launcher(void)
{
    static char path[PATH_MAX];
    const char *preload = getenv("LD_PRELOAD");
    if (!preload || !strstr(preload, "libvtrace")) return 0;
    long n = VT_SYS4(readlinkat, AT_FDCWD, "/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    return is_launcher(name);
}

/* proc(5): number (name) state, and the start in clock ticks since boot as the 20th word from there. */
int vt_process_look(uint32_t pid, struct vt_process_look *look)
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
    look->state = at[2];
    t = vt_text_into(look->name, sizeof look->name);
    for (name++; name < at; name++) vt_text_add(&t, (char[]){*name, 0});
    for (int i = 0; i < 20 && at; i++) at = strchr(at + 1, ' ');
    if (at) look->began = strtoull(at, NULL, 10);
    return at != NULL;
}

/* Shells and other programs that a launcher starts, and what these start before MPI_Init or without MPI, are of one run on
   each host: they have the launcher's helper there as their parent, and the name of the job.                              */
void vt_launcher_run(struct vt_file *h)
{
    static char text[1024];
    static const char *const jobs[] = {"PMIX_NAMESPACE", "PMI_JOBID", "SLURM_JOB_ID", "SLURM_STEP_ID"};
    struct vt_process_look parent;
    const uint32_t pid = (uint32_t)VT_SYS0(getppid);
    if (!vt_launcher_rank() || !vt_process_look(pid, &parent) || !is_launcher(parent.name)) return;
    struct vt_text t = vt_text_into(text, sizeof text);
    vt_text_add(&t, h->host);
    vt_text_add(&t, " ");
    vt_text_dec(&t, pid);
    vt_text_add(&t, " ");
    vt_text_dec(&t, parent.began);
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        const char *job = getenv(jobs[i]);
        vt_text_add(&t, " ");
        vt_text_add(&t, job ? job : "");
    }
    const uint64_t run[2] = {vt_checksum(1, text, (size_t)(t.at - text)), vt_checksum(2, text, (size_t)(t.at - text))};
    memcpy(h->run, run, sizeof h->run);
}
