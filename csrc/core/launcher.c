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

/* 1: this process is one. A program that is linked with vtrace may be called what it likes. */
int vt_is_launcher(void)
{
    static char path[PATH_MAX];
    const char *preload = getenv("LD_PRELOAD");
    if (!preload || !strstr(preload, "libvtrace")) return 0;
    long n = VT_SYS4(readlinkat, AT_FDCWD, "/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (!strncmp(name, beginnings[i], strlen(beginnings[i]))) return 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i])) return 1;
    return 0;
}
