/* SPDX-License-Identifier: BSD-3-Clause */
/* A process runs another program (exec), or ends without exit handlers (_exit). Its records are completed before. */
#define _GNU_SOURCE
#include <alloca.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>
#include "procwrap.h"

typedef char *const *strings;

/* ---- The functions of libc, called with the environment for the program ---- */

static struct vt_call call_execve = VT_CALL_OF(execve), call_execvpe = VT_CALL_OF(execvpe);
static struct vt_call call_fexecve = VT_CALL_OF(fexecve), call_execveat = VT_CALL_OF(execveat);

struct target {
    const char *path;
    int fd, flags;
    struct vt_call *function;
};

static int become(struct vt_call *call, struct target to, strings arguments, strings environment)
{
    int (*real)(const char *, strings, strings);
    int (*of_fd)(int, strings, strings);
    int (*at)(int, const char *, strings, strings, int);
    struct vt_environment room;
    vt_before_exec(); /* first: a sample taken later would begin records that no code completes */
    uint32_t region = vt_begin_process(call, to.path, 0);
    int suspended = region && vt_suspend(), r;
    char **given = vt_environment(environment, &room, to.fd < 0 ? to.path : NULL);
    void *next = vt_call_next(to.function);
    if (to.function == &call_fexecve) *(void **)&of_fd = next, r = of_fd(to.fd, arguments, given);
    else if (to.function == &call_execveat) {
        *(void **)&at = next;
        r = at(to.fd, to.path, arguments, given, to.flags);
    } else *(void **)&real = next, r = real(to.path, arguments, given);
    if (suspended) vt_resume();
    vt_end_process(region, 0, errno);
    vt_after_exec();
    return r;
}

static struct target by_path(const char *path) { return (struct target){path, -1, 0, &call_execve}; }
static struct target by_name(const char *name) { return (struct target){name, -1, 0, &call_execvpe}; }

/* ---- The functions ---- */

VT_CALL_EXPORT int execve(const char *path, strings arguments, strings environment)
{
    return become(&call_execve, by_path(path), arguments, environment);
}

VT_CALL_EXPORT int execv(const char *path, strings arguments)
{
    static struct vt_call call = VT_CALL_OF(execv);
    return become(&call, by_path(path), arguments, environ);
}

VT_CALL_EXPORT int execvpe(const char *name, strings arguments, strings environment)
{
    return become(&call_execvpe, by_name(name), arguments, environment);
}

VT_CALL_EXPORT int execvp(const char *name, strings arguments)
{
    static struct vt_call call = VT_CALL_OF(execvp);
    return become(&call, by_name(name), arguments, environ);
}

VT_CALL_EXPORT int fexecve(int fd, strings arguments, strings environment)
{
    return become(&call_fexecve, (struct target){NULL, fd, 0, &call_fexecve}, arguments, environment);
}

VT_CALL_EXPORT int execveat(int fd, const char *path, strings arguments, strings environment, int flags)
{
    return become(&call_execveat, (struct target){path, fd, flags, &call_execveat}, arguments, environment);
}

/* ---- Functions with arguments one by one, ended by NULL ---- */

static size_t count(const char *first, va_list rest)
{
    size_t n = first != NULL;
    if (first)
        while (va_arg(rest, const char *)) n++;
    return n;
}

static void collect(char **into, size_t n, const char *first, va_list rest)
{
    into[0] = (char *)(uintptr_t)first;
    for (size_t i = 1; i <= n; i++) into[i] = va_arg(rest, char *);
}

/* environment: the argument after NULL. */
#define LISTED(function, target, environment)                                                                          \
    VT_CALL_EXPORT int function(const char *path, const char *first, ...)                                              \
    {                                                                                                                  \
        static struct vt_call call = VT_CALL_OF(function);                                                             \
        va_list rest;                                                                                                  \
        va_start(rest, first);                                                                                         \
        size_t n = count(first, rest);                                                                                 \
        va_end(rest);                                                                                                  \
        char **arguments = alloca((n + 1) * sizeof *arguments);                                                        \
        va_start(rest, first);                                                                                         \
        collect(arguments, n, first, rest);                                                                            \
        strings given = environment;                                                                                   \
        va_end(rest);                                                                                                  \
        return become(&call, target(path), arguments, given);                                                          \
    }

LISTED(execl, by_path, environ)
LISTED(execlp, by_name, environ)
LISTED(execle, by_path, va_arg(rest, strings))

/* ---- Ends without exit handlers ---- */

__attribute__((noreturn)) static void finish(struct vt_call *call, int code)
{
    void (*real)(int) __attribute__((noreturn));
    if (!vt_shares_memory() && !(vt_own_location && VT_READ(vt_own_location->busy))) vt_end_for_good();
    *(void **)&real = vt_call_next(call);
    real(code);
}

VT_CALL_EXPORT void _exit(int code)
{
    static struct vt_call call = VT_CALL_OF(_exit);
    finish(&call, code);
}

VT_CALL_EXPORT void _Exit(int code)
{
    static struct vt_call call = VT_CALL_OF(_Exit);
    finish(&call, code);
}
