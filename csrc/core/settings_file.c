/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads each settings file once, without malloc, since the shims of malloc ask for settings, too. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
#include "system.h"

#define BYTES 16384u /* size limit of a file, with the 0 at its end */
#define LINES 256u

/* A line of a file that is not a comment; value NULL: the line is not NAME=VALUE. */
struct line {
    const char *name, *value;
    unsigned number;
};

static struct source {
    char path[4096], text[BYTES];
    struct line lines[LINES];
    unsigned nlines;
    long error; /* result of reading the file: -errno, or 0 */
    int is_long; /* 1: the rest was ignored */
} sources[2]; /* the stronger one first */

/* Settings NAME=VALUE, each followed by a 0, and an empty one. Defined by programs of the Tracer's wrappers
   (csrc/tracer). */
extern const char vt_program_settings[] __attribute__((weak, visibility("default")));

static atomic_int state; /* 0: not read yet, 1: another call reads, 2: read */

static int is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* Removes the blanks at both ends of a text. */
static char *trimmed(char *begin, char *end)
{
    while (end > begin && is_blank(end[-1])) end--;
    *end = 0;
    while (is_blank(*begin)) begin++;
    return begin;
}

static void parse(struct source *s)
{
    unsigned number = 1;
    for (char *at = s->text, *next; at; at = next, number++) {
        char *end = at + strcspn(at, "\n");
        next = *end ? end + 1 : NULL;
        at = trimmed(at, end);
        if (!*at || *at == '#') continue;
        if (s->nlines == LINES) {
            s->is_long = 1;
            return;
        }
        char *equals = strchr(at, '=');
        struct line *l = &s->lines[s->nlines++];
        *l = (struct line){at, NULL, number};
        if (strncmp(at, "VT_", 3) || !equals) continue;
        l->value = trimmed(equals + 1, equals + strlen(equals));
        trimmed(at, equals);
    }
}

static void read_source(struct source *s)
{
    long file = VT_SYS4(openat, AT_FDCWD, s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    size_t used = 0;
    if (file < 0) s->error = file;
    if (file < 0) return;
    for (long got = 1; used < BYTES && got > 0; used += got > 0 ? (size_t)got : 0) {
        got = VT_SYS3(read, file, s->text + used, BYTES - used);
        if (got < 0) s->error = got;
    }
    VT_SYS1(close, file);
    s->is_long = used == BYTES;
    used -= (size_t)s->is_long;
    s->text[used] = 0;
    if (s->is_long) /* the last line may be cut */
        while (used && s->text[used - 1] != '\n') s->text[--used] = 0;
    if (memchr(s->text, 0, used)) s->error = -EINVAL;
    if (!s->error) parse(s);
}

static void name_sources(void)
{
    const char *only = getenv("VT_CONFIG"), *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    struct vt_text user = vt_text_into(sources[0].path, sizeof sources[0].path);
    if (only) {
        vt_text_add(&user, only);
        return;
    }
    if (config && *config == '/') vt_text_add(&user, config);
    else if (home && *home == '/') {
        vt_text_add(&user, home, "/.config");
    }
    if (*sources[0].path) vt_text_add(&user, "/vtrace/settings");
    struct vt_text system = vt_text_into(sources[1].path, sizeof sources[1].path);
    vt_text_add(&system, "/etc/vtrace.conf");
}

/* A program with rights that its user lacks (setuid) reads no files that the user names. */
static void load(void)
{
    int expected = 0;
    if (!environ) return; /* ld.so itself calls malloc: the variables that name the files are not known yet */
    if (atomic_load(&state) || !atomic_compare_exchange_strong(&state, &expected, 1)) return;
    if (!getauxval(AT_SECURE)) {
        name_sources();
        for (unsigned i = 0; i < 2; i++)
            if (*sources[i].path) read_source(&sources[i]);
    }
    atomic_store(&state, 2);
}

static const char *setting_of_program(const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = vt_program_settings; at && *at; at += strlen(at) + 1)
        if (!strncmp(at, name, n) && at[n] == '=') return at + n + 1;
    return NULL;
}

const char *vt_setting_text(const char *name)
{
    const char *value = getenv(name);
    if (value) return value;
    load();
    if (atomic_load(&state) != 2) return NULL;
    for (unsigned i = 0; i < 2; i++)
        for (unsigned k = sources[i].nlines; k--;)
            if (sources[i].lines[k].value && !strcmp(sources[i].lines[k].name, name)) return sources[i].lines[k].value;
    return setting_of_program(name);
}

const char *vt_settings_file_name(unsigned i)
{
    load();
    if (atomic_load(&state) != 2) return NULL;
    for (unsigned k = 0; k < 2; k++)
        for (unsigned l = 0; l < sources[k].nlines; l++)
            if (sources[k].lines[l].value && !i--) return sources[k].lines[l].name;
    return NULL;
}

void vt_settings_file_check(void)
{
    load();
    if (atomic_load(&state) != 2) return;
    for (unsigned i = 0; i < 2; i++) {
        struct source *s = &sources[i];
        const int named = getenv("VT_CONFIG") != NULL;
        if (s->error && (named || (s->error != -ENOENT && s->error != -ENOTDIR && s->error != -EACCES)))
            vt_say(1, "settings file %.400s: %s: the file is ignored", s->path,
                   s->error == -EINVAL   ? "not a text"
                   : s->error == -ENOENT ? "no such file"
                                         : vt_reason(s->error));
        for (unsigned k = 0; k < s->nlines; k++)
            if (!s->lines[k].value)
                vt_say(1, "settings file %.400s, line %u: \"%.64s\" is not VT_NAME=VALUE: the line is ignored", s->path,
                       s->lines[k].number, s->lines[k].name);
        if (s->is_long && !s->error)
            vt_say(1, "settings file %.400s has more than %u bytes or %u settings: the rest is ignored", s->path,
                   BYTES - 1, LINES);
    }
}
