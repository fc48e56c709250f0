/* SPDX-License-Identifier: BSD-3-Clause */
/* The environment by which a started program joins the run: the run in VTRACE_PARENT and, if tracing was preloaded,
   vtrace's libraries in LD_PRELOAD, the VT_ variables of the start and the directory in PYTHONPATH by which Python
   records functions. The started program also needs these where the calling program keeps its own environment (shells)
   or passes an empty one (env -i). This file does not call malloc:
   the functions may run in the child of a vfork or in a signal handler. */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "../core/lineage.h"
#include "../core/settings.h"
#include "../core/sys.h"
#include "../core/text.h"
#include "procwrap.h"

#define PRELOAD "LD_PRELOAD="
#define OURS "libvtrace"
#define PYTHON "PYTHONPATH="
#define HOOK "/vtrace/python_hook"

static char *preloaded; /* vtrace's libraries in LD_PRELOAD, separated by colons; NULL: none */
static char **variables; /* VT_ variables at the start of the program */
static size_t nvariables;
static char hook[1024]; /* the directory of HOOK in PYTHONPATH; "": none */

static int is_ours(const char *entry, size_t n)
{
    size_t begin = n;
    while (begin && entry[begin - 1] != '/') begin--;
    return n - begin >= sizeof OURS - 1 && !strncmp(entry + begin, OURS, sizeof OURS - 1);
}

/* Adds the entries of a list that are vtrace's (ours), or the other ones. */
static void add_entries(struct vt_text *t, const char *list, int ours)
{
    char *begin = t->at;
    while (*(list += strspn(list, ": "))) {
        size_t n = strcspn(list, ": ");
        if (is_ours(list, n) == ours) {
            if (t->at > begin) vt_text_add(t, ":");
            for (size_t i = 0; i < n; i++) vt_text_add(t, (char[]){list[i], 0});
        }
        list += n;
    }
}

static const char *value_of(char *const *environment, const char *name)
{
    for (; *environment; environment++)
        if (!strncmp(*environment, name, strlen(name))) return *environment + strlen(name);
    return NULL;
}

/* The entry of PYTHONPATH that ends with HOOK, or NULL. n: its length. */
static const char *hook_in(const char *path, size_t *n)
{
    for (; path && *path; path += *n + (path[*n] == ':')) {
        *n = strcspn(path, ":");
        if (*n >= sizeof HOOK - 1 && !strncmp(path + *n - (sizeof HOOK - 1), HOOK, sizeof HOOK - 1)) return path;
    }
    return NULL;
}

static void remember_hook(void)
{
    size_t n;
    const char *entry = hook_in(value_of(environ, PYTHON), &n);
    if (entry && n < sizeof hook) memcpy(hook, entry, n);
}

/* Runs before the program can change its environment. */
__attribute__((constructor)) static void remember(void)
{
    const char *list = environ ? value_of(environ, PRELOAD) : NULL;
    size_t bytes = 0, n = 0;
    if (!list || !strstr(list, OURS) || preloaded) return;
    for (char **e = environ; *e; e++)
        if (!strncmp(*e, "VT_", 3)) n++, bytes += strlen(*e) + 1 + sizeof *e;
    bytes += strlen(list) + 1;
    char *memory = vt_pages(bytes);
    if (!memory) return;
    variables = (char **)(void *)memory;
    char *at = memory + n * sizeof *variables;
    for (char **e = environ; *e && nvariables < n; e++)
        if (!strncmp(*e, "VT_", 3)) {
            variables[nvariables++] = strcpy(at, *e);
            at += strlen(at) + 1;
        }
    struct vt_text t = vt_text_into(at, strlen(list) + 1);
    add_entries(&t, list, 1);
    preloaded = at;
    remember_hook();
}

/* Memory of a thread, kept for its next call: pages that a child of vfork maps stay in its parent. */
static char **pages_for(size_t n)
{
    static _Thread_local char **pages __attribute__((tls_model("initial-exec")));
    static _Thread_local size_t room __attribute__((tls_model("initial-exec")));
    if (n <= room) return pages;
    if (pages) VT_SYS2(munmap, pages, room * sizeof *pages);
    pages = vt_pages(n * sizeof *pages);
    room = pages ? n : 0;
    return pages;
}

/* Stores an entry; it replaces an entry with the same name. */
static size_t put(char **all, size_t n, const char *name, char *entry)
{
    size_t i = 0;
    while (i < n && strncmp(all[i], name, strlen(name)) != 0) i++;
    all[i] = entry;
    return i == n ? n + 1 : n;
}

/* Returns 1 for a program whose loader is musl's: that loader ends the program if it cannot load a library of
   LD_PRELOAD, and it cannot load libraries for glibc. A name without a directory returns 0. */
static int is_for_musl(const char *path)
{
    Elf64_Ehdr head;
    Elf64_Phdr segment = {0};
    char loader[64] = "";
    if (!path || !strchr(path, '/')) return 0;
    const long fd = VT_SYS4(openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0) return 0;
    const int elf = VT_SYS4(pread64, fd, &head, sizeof head, 0) == sizeof head &&
                    !memcmp(head.e_ident, ELFMAG, SELFMAG) && head.e_ident[EI_CLASS] == ELFCLASS64;
    for (unsigned i = 0; elf && i < head.e_phnum && i < 64 && segment.p_type != PT_INTERP; i++)
        if (VT_SYS4(pread64, fd, &segment, sizeof segment, head.e_phoff + i * sizeof segment) != sizeof segment) break;
    if (segment.p_type == PT_INTERP) VT_SYS4(pread64, fd, loader, sizeof loader - 1, segment.p_offset);
    VT_SYS1(close, fd);
    return strstr(loader, "/ld-musl-") != NULL;
}

static size_t put_preload(char **all, size_t n, char *text, size_t bytes, const char *path)
{
    const char *given = value_of(all, PRELOAD);
    int trace = vt_exec_is_traced() && !is_for_musl(path);
    struct vt_text t = vt_text_into(text, bytes);
    vt_text_add(&t, PRELOAD);
    if (trace) vt_text_add(&t, preloaded);
    if (given && trace) vt_text_add(&t, ":");
    if (given) add_entries(&t, given, 0);
    if (t.at == t.end) return n; /* too long: the entry stays unchanged */
    for (size_t i = 0; trace && !given && i < nvariables; i++) {
        size_t length = strcspn(variables[i], "=") + 1, k = 0;
        while (k < n && strncmp(all[k], variables[i], length) != 0) k++;
        if (k == n) all[n++] = variables[i];
    }
    return put(all, n, PRELOAD, text);
}

/* Python imports the hook from PYTHONPATH, and takes the entry out of sys.path, but not out of the variable. */
static size_t put_hook(char **all, size_t n, char *text, size_t bytes)
{
    size_t length;
    const char *given = value_of(all, PYTHON);
    if (hook_in(given, &length)) return n;
    struct vt_text t = vt_text_into(text, bytes);
    vt_text_add(&t, PYTHON);
    vt_text_add(&t, hook);
    if (given && *given) vt_text_add(&t, ":");
    if (given) vt_text_add(&t, given);
    return t.at == t.end ? n : put(all, n, PYTHON, text); /* too long: Python says at its end that it lacks the hook */
}

char **vt_environment(char *const *given, struct vt_environment *room, const char *path)
{
    const char *run_variable = vt_run_variable();
    size_t n = 0;
    if (atomic_load(&vt_process.state) == VT_FAILED || (!run_variable && !preloaded)) return (char **)(uintptr_t)given;
    while (given && given[n]) n++;
    size_t most = n + nvariables + 4;
    char **all = most <= VT_ENTRIES ? room->entries : pages_for(most);
    if (!all) return (char **)(uintptr_t)given;
    if (n) memcpy(all, given, n * sizeof *all);
    all[n] = NULL;
    if (preloaded) n = put_preload(all, n, room->preload, sizeof room->preload, path);
    if (*hook && vt_exec_is_traced()) all[n] = NULL, n = put_hook(all, n, room->python, sizeof room->python);
    if (run_variable) n = put(all, n, VT_FAMILY_NAME, (char *)(uintptr_t)run_variable);
    all[n] = NULL;
    return all;
}
