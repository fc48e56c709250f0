/* SPDX-License-Identifier: BSD-3-Clause */
/* Other tools that wrap MPI functions. A tool that precedes the shim in the search order calls the shim's functions;
   the shim calls those of a tool that follows it. */
#include "mpiwrap.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

void *const *vt_mpi_tool_functions;

/* Returns false if another tool's MPI_Init precedes the shim's: then the shim would not see MPI_Init, and see only some
   of the calls. */
static bool vt_mpi_in_front(void)
{
    void *front = dlsym(RTLD_DEFAULT, "MPI_Init");
    if (!front || (uintptr_t)front == vt_mpi_own[VT_F_MPI_Init]) return true;
    Dl_info found = {0};
    const char *object = dladdr(front, &found) && found.dli_fname ? found.dli_fname : "another object";
    vt_warn_left_out("mpi", "MPI calls are not recorded: %s defines MPI_Init and precedes vtrace in the search order",
                     object);
    return false;
}

struct vt_code {
    uintptr_t address, start, end;
};

static int vt_code_at(struct dl_phdr_info *info, size_t size, void *wanted)
{
    struct vt_code *code = wanted;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, bytes = info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type != PT_LOAD || code->address - start >= bytes) continue;
        code->start = start;
        code->end = start + bytes;
        return 1;
    }
    return 0;
}

/* True for the same shim as a library, preloaded for a program that is linked with the shim. */
static bool vt_is_our_library(void *code)
{
    Dl_info found = {0};
    const char *name = dladdr(code, &found) && found.dli_fname ? strrchr(found.dli_fname, '/') : NULL;
    return name && !strcmp(name, "/libvtrace-mpi.so");
}

/* Fills vt_mpi_tool_functions with the next definitions that are not MPI's own. MPI's MPI_x and PMPI_x are two names of
   the same code. */
static void vt_mpi_find_tools(void)
{
    struct vt_code library = {.address = (uintptr_t)PMPI_Init};
    void **nexts = NULL;
    if (!dl_iterate_phdr(vt_code_at, &library)) return;
    for (unsigned i = 0; i < VT_FUNCTIONS; i++) {
        void *next = VT_OWN_WORK(dlsym(RTLD_NEXT, vt_mpi_functions[i].name));
        if (!next || ((uintptr_t)next >= library.start && (uintptr_t)next < library.end)) continue;
        if (vt_is_our_library(next)) continue;
        if (!nexts) nexts = vt_pages(VT_FUNCTIONS * sizeof *nexts);
        if (!nexts) return;
        nexts[i] = next;
    }
    vt_mpi_tool_functions = nexts;
}

/* True if calls of a function reach another definition before the shim's: a wrapper of the program, or of a tool. */
static bool vt_mpi_is_preceded(unsigned function, const struct vt_code *library)
{
    void *front = dlsym(RTLD_DEFAULT, vt_mpi_functions[function].name);
    const uintptr_t address = (uintptr_t)front;
    if (!front || address == vt_mpi_own[function]) return false;
    return (address < library->start || address >= library->end) && !vt_is_our_library(front);
}

/* Prints the functions that are not recorded, since another definition calls MPI's directly (PMPI_x). */
static void vt_mpi_tell_preceded(void)
{
    struct vt_code library = {.address = (uintptr_t)PMPI_Init};
    char names[200] = "";
    unsigned count = 0;
    if (!dl_iterate_phdr(vt_code_at, &library)) return;
    for (unsigned i = 0; i < VT_FUNCTIONS; i++) {
        const char *name = vt_mpi_functions[i].name;
        const size_t used = strlen(names);
        if (!vt_mpi_is_preceded(i, &library)) continue;
        if (used + strlen(name) + 3 <= sizeof names) snprintf(names + used, sizeof names - used, " %s", name);
        count++;
    }
    if (count)
        vt_warn_left_out("mpi", "not recorded, since the program or a tool wraps them itself: %u MPI function%s:%s",
                         count, count == 1 ? "" : "s", names);
}
