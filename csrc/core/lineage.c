/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that a traced program starts belong to the same run. One environment variable passes the run id, parent,
   prefix and directories to these programs. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "settings.h"

/* VT_FAMILY_NAME run:pid:start:prefix:length of gdir:gdir:ldir, with hexadecimal numbers. A + follows pid if the
   process is the first of its run. A * follows if the process or one of its ancestors is a rank of an
   MPI_COMM_WORLD. */
static char variable[sizeof VT_FAMILY_NAME + 32 + 64 + sizeof(((struct vt_settings *)0)->prefix) + 1024];
static char **array, **program_environ; /* while environ is lent: environ, and the program's array */
static size_t entries; /* room of the array */
static _Thread_local int borrows __attribute__((tls_model("initial-exec"))); /* the call of this thread reads environ */
static atomic_int lent;
static int has_rank;

int vt_lineage_has_rank(void) { return has_rank; }

void vt_lineage_tell(void)
{
    const struct vt_file *h = &vt_process.head;
    static char text[sizeof variable];
    has_rank |= h->world != 0;
    struct vt_text t = vt_text_into(text, sizeof text);
    vt_text_add(&t, VT_FAMILY_NAME);
    vt_text_run(&t, h->run);
    vt_text_add(&t, ":");
    vt_text_hex(&t, h->pid);
    if (vt_process.first) vt_text_add(&t, "+");
    vt_text_add(&t, has_rank ? "*:" : ":");
    vt_text_hex(&t, h->start);
    vt_text_add(&t, ":", vt_process.set.prefix, ":");
    vt_text_hex(&t, strlen(vt_process.set.gdir));
    vt_text_add(&t, ":", vt_process.set.gdir, ":", vt_process.set.ldir);
    if (strcmp(variable, text)) memcpy(variable, text, sizeof text); /* other threads may read it */
}

/* The array is kept for the next call, since other threads may still read it. */
int vt_lineage_lend(void)
{
    int expected = 0;
    size_t n = 0, at = SIZE_MAX;
    if (!*variable || !atomic_compare_exchange_strong(&lent, &expected, 1)) return 0;
    for (; environ && environ[n]; n++)
        if (!strncmp(environ[n], VT_FAMILY_NAME, sizeof VT_FAMILY_NAME - 1)) at = n;
    if (n + 2 > entries) {
        char **more = vt_pages((2 * n + 2) * sizeof *more);
        entries = more ? 2 * n + 2 : 0;
        array = more;
    }
    if (!array) {
        atomic_store(&lent, 0);
        return 0;
    }
    if (n) memcpy(array, environ, n * sizeof *array);
    array[n] = array[n + 1] = NULL;
    array[at != SIZE_MAX ? at : n] = variable;
    program_environ = environ;
    borrows = 1;
    environ = array;
    return 1;
}

/* 1: no other thread has called setenv, putenv or unsetenv for the array meanwhile. */
static int is_unchanged(void)
{
    size_t i = 0;
    for (; program_environ && program_environ[i]; i++)
        if (array[i] != program_environ[i] && array[i] != variable) return 0;
    return !array[i] || (array[i] == variable && !array[i + 1]);
}

/* What another thread has changed meanwhile is kept: environ is then a copy of libc's, or stays the array. */
void vt_lineage_return(void)
{
    if (environ == array && is_unchanged()) environ = program_environ;
    else if (environ == array) {
        array = NULL;
        entries = 0;
    }
    borrows = 0;
    atomic_store(&lent, 0);
}

/* The calling thread itself may be in a popen that forks (glibc before 2.29). */
void vt_lineage_forked(void)
{
    if (atomic_load(&lent) && !borrows) vt_lineage_return();
}

const char *vt_run_variable(void) { return *variable ? variable : NULL; }

static int nibble(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

/* Copies n bytes, which the separator c must follow. Returns the text after the separator; NULL on failure. */
static const char *take(char *into, size_t room, const char *from, size_t n, char c)
{
    if (n >= room || strnlen(from, n) < n || from[n] != c) return NULL;
    memcpy(into, from, n);
    into[n] = 0;
    return from + n + (c != 0);
}

/* Reads 32 hexadecimal digits. Returns 0 if there are others. */
static int read_run(uint8_t run[16], const char *text)
{
    for (int i = 0; i < 16; i++) {
        int high = nibble(text[2 * i]), low = high < 0 ? -1 : nibble(text[2 * i + 1]);
        if (low < 0) return 0;
        run[i] = (uint8_t)(high << 4 | low);
    }
    return 1;
}

/* VTRACE_RUN is run:pid:prefix, of the first program. A program that starts others by system calls of its own, as Go does,
   passes on nothing but the environment of its start. */
int vt_lineage_run(uint8_t run[16])
{
    const char *text = getenv("VTRACE_RUN");
    return text && strlen(text) > 33 && text[32] == ':' && read_run(run, text);
}

const char *vt_lineage_prefix(void)
{
    uint8_t run[16];
    const char *prefix = vt_lineage_run(run) && vt_lineage_has_parent() ? strchr(getenv("VTRACE_RUN") + 33, ':') : NULL;
    return prefix && prefix[1] && !strchr(prefix, '/') ? prefix + 1 : NULL;
}

int vt_lineage_has_parent(void)
{
    uint8_t run[16];
    return getenv("VTRACE_PARENT") ||
           (vt_lineage_run(run) && strtoul(getenv("VTRACE_RUN") + 33, NULL, 10) != (unsigned long)VT_SYS0(getpid));
}

int vt_lineage_read(struct vt_file *h, struct vt_settings *set)
{
    const char *text = getenv("VTRACE_PARENT");
    static struct vt_settings s;
    static struct vt_file f;
    char *end;
    s = *set;
    f = *h;
    vt_process.first = !vt_lineage_has_parent();
    if (!text || strlen(text) < 36 || text[32] != ':') return 0;
    if (!read_run(f.run, text)) return 0;
    f.parent_pid = (uint32_t)strtoull(text + 33, &end, 16);
    int first = *end == '+';
    end += first;
    int ranked = *end == '*';
    if (*(end += ranked) != ':') return 0;
    f.parent_start = strtoull(end + 1, &end, 16);
    if (*end != ':') return 0;
    const char *at = end + 1, *colon = strchr(at, ':');
    if (!colon || colon == at || memchr(at, '/', (size_t)(colon - at))) return 0;
    if (!(at = take(s.prefix, sizeof s.prefix, at, (size_t)(colon - at), ':'))) return 0;
    size_t n = strtoull(at, &end, 16);
    if (*end != ':' || !(at = take(s.gdir, sizeof s.gdir, end + 1, n, ':'))) return 0;
    if (!take(s.ldir, sizeof s.ldir, at, strlen(at), 0) || s.gdir[0] != '/' || s.ldir[0] != '/') return 0;
    strcpy(s.base, s.prefix);
    s.unique = s.count = 0; /* the prefix already has the count */
    *set = s;
    *h = f;
    has_rank = ranked;
    vt_process.first = first && f.parent_pid == f.pid; /* equal pids: this process before an exec */
    return 1;
}
