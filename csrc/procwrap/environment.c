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
#include "procwrap.h"

#define PRELOAD "LD_PRELOAD="
#define NAME "libvtrace"
#define MEMORY_SHIM "libvtrace-mem.so"
#define ASAN "ASAN_OPTIONS="
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
    return n - begin >= sizeof NAME - 1 && !strncmp(entry + begin, NAME, sizeof NAME - 1);
}

static int ends_with(const char *entry, size_t n, const char *end)
{
    const size_t m = strlen(end);
    return n >= m && !strncmp(entry + n - m, end, m);
}

/* NOT_MEMORY: vtrace's without its malloc, since TSan's malloc fails after another malloc during the start. */
enum entries { OURS, NOT_MEMORY, OTHERS };

/* Adds the entries of a list that are wanted. */
static void add_entries(struct vt_text *t, const char *list, enum entries wanted)
{
    char *begin = t->at;
    while (*(list += strspn(list, ": "))) {
        size_t n = strcspn(list, ": ");
        const int ours = is_ours(list, n), left_out = wanted == NOT_MEMORY && ends_with(list, n, MEMORY_SHIM);
        if (ours == (wanted != OTHERS) && !left_out) {
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
    if (!list || !strstr(list, NAME) || preloaded) return;
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
    add_entries(&t, list, OURS);
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

/* What a program says about itself: its loader is musl's, which ends the program if it cannot load a library of
   LD_PRELOAD, and cannot load libraries for glibc; or it needs the shared library of a sanitizer. */
struct program {
    int musl, asan, tsan;
};

#define HEADERS 32
#define DYNAMIC 64

/* Reads the names of needed libraries. strings: offset of the string table in the file. */
static void read_needed(struct program *p, long fd, const Elf64_Dyn *dynamic, unsigned n, uint64_t strings)
{
    for (unsigned i = 0; i < n && dynamic[i].d_tag != DT_NULL; i++) {
        char name[24] = "";
        if (dynamic[i].d_tag != DT_NEEDED) continue;
        VT_SYS4(pread64, fd, name, sizeof name - 1, strings + dynamic[i].d_un.d_val);
        p->asan |= !strncmp(name, "libasan.so", 10) || !strncmp(name, "libclang_rt.asan", 16);
        p->tsan |= !strncmp(name, "libtsan.so", 10) || !strncmp(name, "libclang_rt.tsan", 16);
    }
}

static void read_segments(struct program *p, long fd, const Elf64_Phdr *segments, unsigned count)
{
    Elf64_Dyn dynamic[DYNAMIC];
    char loader[64] = "";
    long n = 0;
    uint64_t strings = 0;
    for (unsigned i = 0; i < count; i++) {
        const Elf64_Phdr *s = &segments[i];
        if (s->p_type == PT_INTERP) VT_SYS4(pread64, fd, loader, sizeof loader - 1, s->p_offset);
        if (s->p_type == PT_DYNAMIC)
            n = VT_SYS4(pread64, fd, dynamic, sizeof dynamic, s->p_offset) / (long)sizeof *dynamic;
    }
    for (long k = 0; k < n && dynamic[k].d_tag != DT_NULL; k++)
        for (unsigned i = 0; dynamic[k].d_tag == DT_STRTAB && i < count; i++) {
            const Elf64_Phdr *s = &segments[i];
            const uint64_t inside = dynamic[k].d_un.d_ptr - s->p_vaddr;
            if (s->p_type == PT_LOAD && inside < s->p_filesz) strings = s->p_offset + inside;
        }
    p->musl = strstr(loader, "/ld-musl-") != NULL;
    if (strings) read_needed(p, fd, dynamic, (unsigned)n, strings);
}

/* A name without a directory says nothing. */
static struct program read_program(const char *path)
{
    struct program p = {0, 0, 0};
    Elf64_Ehdr head;
    Elf64_Phdr segments[HEADERS];
    if (!path || !strchr(path, '/')) return p;
    const long fd = VT_SYS4(openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0) return p;
    const int elf = VT_SYS4(pread64, fd, &head, sizeof head, 0) == sizeof head &&
                    !memcmp(head.e_ident, ELFMAG, SELFMAG) && head.e_ident[EI_CLASS] == ELFCLASS64;
    const unsigned count = elf && head.e_phnum < HEADERS ? head.e_phnum : 0;
    const long bytes = count * (long)sizeof *segments;
    if (count && VT_SYS4(pread64, fd, segments, bytes, head.e_phoff) == bytes) read_segments(&p, fd, segments, count);
    VT_SYS1(close, fd);
    return p;
}

/* ASan ends a program in which ASan is not the first library. */
static size_t put_asan(char **all, size_t n, char *text, size_t bytes)
{
    static const char option[] = "verify_asan_link_order";
    const char *given = value_of(all, ASAN);
    if (given && strstr(given, option)) return n;
    struct vt_text t = vt_text_into(text, bytes);
    vt_text_add(&t, ASAN);
    if (given && *given) {
        vt_text_add(&t, given, ":");
    }
    vt_text_add(&t, option, "=0");
    return t.at == t.end ? n : put(all, n, ASAN, text); /* too long: the entry stays unchanged */
}

static size_t put_preload(char **all, size_t n, char *text, size_t bytes, const struct program *program)
{
    const char *given = value_of(all, PRELOAD);
    int trace = vt_exec_is_traced() && !program->musl;
    struct vt_text t = vt_text_into(text, bytes);
    vt_text_add(&t, PRELOAD);
    if (trace) add_entries(&t, preloaded, program->tsan ? NOT_MEMORY : OURS);
    if (given && trace) vt_text_add(&t, ":");
    if (given) add_entries(&t, given, OTHERS);
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
    vt_text_add(&t, PYTHON, hook);
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
    size_t most = n + nvariables + 5;
    char **all = most <= VT_ENTRIES ? room->entries : pages_for(most);
    if (!all) return (char **)(uintptr_t)given;
    if (n) memcpy(all, given, n * sizeof *all);
    all[n] = NULL;
    const struct program program = preloaded ? read_program(path) : (struct program){0, 0, 0};
    if (preloaded) n = put_preload(all, n, room->preload, sizeof room->preload, &program);
    if (program.asan && vt_exec_is_traced()) all[n] = NULL, n = put_asan(all, n, room->asan, sizeof room->asan);
    if (*hook && vt_exec_is_traced()) all[n] = NULL, n = put_hook(all, n, room->python, sizeof room->python);
    if (run_variable) n = put(all, n, VT_FAMILY_NAME, (char *)(uintptr_t)run_variable);
    all[n] = NULL;
    return all;
}
