/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories and names of a run's files. Sources: VT_PFORM_GDIR, VT_PFORM_LDIR, VT_FILE_PREFIX, VT_FILE_UNIQUE and
   VT_GNU_NMFILE (guide, Table 4.5), and the variables of launchers and batch systems. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include "settings.h"

/* A file name has at most 255 bytes. Host, pid, start, location and suffix need up to 120 of these bytes. */
#define PREFIX_MOST 128

/* The value of the first variable that is set and not empty. */
static const char *first_set(const char *const *names)
{
    for (; *names; names++) {
        const char *value = getenv(*names);
        if (value && *value) return value;
    }
    return NULL;
}

const char *vt_launcher_rank(void)
{
    static const char *const names[] = {"PMIX_RANK",   "PMI_RANK",    "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK",
                                        "PALS_RANKID", "ALPS_APP_PE", "SLURM_PROCID",         NULL};
    return first_set(names);
}

/* The number of processes that the launcher has started on this node; 0: unknown. Source: variables of Open MPI, Hydra,
   MVAPICH, PALS and Slurm. For several nodes Slurm's value may be "4(x2),3". */
uint64_t vt_launcher_processes(void)
{
    static const char *const names[] = {
        "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",       "MV2_COMM_WORLD_LOCAL_SIZE", "PALS_LOCAL_SIZE",
        "SLURM_STEP_TASKS_PER_NODE",  "SLURM_NTASKS_PER_NODE", "SLURM_TASKS_PER_NODE",      NULL};
    const char *value = first_set(names);
    unsigned long n = value && *value >= '0' && *value <= '9' ? strtoul(value, NULL, 10) : 0;
    return n < UINT32_MAX ? n : 0;
}

/* The job id of Slurm, Fujitsu's job system, PBS, LSF or Grid Engine; NULL: none. */
static const char *job(void)
{
    static const char *const names[] = {"SLURM_JOB_ID", "PJM_JOBID", "PBS_JOBID", "LSB_JOBID", "JOB_ID", NULL};
    return first_set(names);
}

/* ---- Expansion of $NAME, ${NAME}, %h %p %r %j %% %$ ---- */

static int is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

/* The value of the variable at *text; *text moves past its name. NULL: no name follows the $, which remains a $. */
static const char *variable(const char **text, char *name, size_t bytes)
{
    const char *begin = *text + ((*text)[0] == '{'), *end = begin;
    while (is_word(*end)) end++;
    if (end == begin || (size_t)(end - begin) >= bytes || (begin != *text && *end != '}')) return NULL;
    memcpy(name, begin, (size_t)(end - begin));
    name[end - begin] = 0;
    *text = end + (begin != *text);
    const char *value = getenv(name);
    return value ? value : "";
}

static void add_letter(struct vt_text *t, char letter)
{
    static struct utsname host;
    const char *rank = vt_launcher_rank(), *number = job();
    char plain[3] = {'%', letter, 0};
    if (letter == 'h') vt_text_add(t, !VT_SYS1(uname, &host) && *host.nodename ? host.nodename : "localhost");
    else if (letter == 'p') vt_text_dec(t, (uint64_t)VT_SYS0(getpid));
    else if (letter == 'r') vt_text_add(t, rank ? rank : "0");
    else if (letter == 'j') vt_text_add(t, number ? number : "0");
    else vt_text_add(t, letter == '%' || letter == '$' ? plain + 1 : plain);
}

/* Expands text into t, as far as there is room. Returns the name of a variable that is not set; NULL if all are set. */
static const char *expand(const char *text, struct vt_text *t)
{
    static char name[64];
    const char *missing = NULL;
    while (*text) {
        char one[2] = {*text++, 0};
        const char *value = one[0] == '$' ? variable(&text, name, sizeof name) : NULL;
        if (value) {
            vt_text_add(t, value);
            if (!*value) missing = name;
        } else if (one[0] == '%' && *text) add_letter(t, *text++);
        else vt_text_add(t, one);
    }
    return missing;
}

/* ---- The prefix ---- */

/* The name of the executable without .out or .exe (guide 4.2.3.2). */
static void standard_prefix(char *into, size_t bytes)
{
    static char path[PATH_MAX];
    vt_executable(path, sizeof path);
    char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    char *dot = strrchr(name, '.');
    if (dot && dot > name && (!strcmp(dot, ".out") || !strcmp(dot, ".exe"))) *dot = 0;
    const char *of_run = vt_lineage_prefix();
    struct vt_text t = vt_text_into(into, bytes < PREFIX_MOST + 1 ? bytes : PREFIX_MOST + 1);
    vt_text_add(&t, of_run ? of_run : *name ? name : "a");
}

/* Reads VT_FILE_PREFIX. set->prefix: the name after the last slash; asked: the directory before it, "" if there is
   none. */
static void read_prefix(struct vt_settings *set, char *asked, size_t bytes)
{
    const char *text = vt_setting_text("VT_FILE_PREFIX");
    standard_prefix(set->prefix, sizeof set->prefix);
    *asked = 0;
    if (!text || !*text) return;
    struct vt_text t = vt_text_into(asked, bytes);
    const char *missing = expand(text, &t);
    char *slash = strrchr(asked, '/'), *name = slash ? slash + 1 : asked;
    size_t n = strlen(name);
    if (missing || t.at == t.end || !n || n > PREFIX_MOST || !strcmp(name, ".") || !strcmp(name, "..")) {
        if (missing)
            vt_say(1, "VT_FILE_PREFIX=%.100s contains $%s, which is not set: %s is used", text, missing, set->prefix);
        else
            vt_say(1, "VT_FILE_PREFIX=%.100s does not end in a file name of at most %d bytes: %s is used", text,
                   PREFIX_MOST, set->prefix);
        *asked = 0;
        return;
    }
    strcpy(set->prefix, name);
    if (slash) slash[slash == asked] = 0; /* the directory of /heat is / */
    else *asked = 0;
}

void vt_place_count(struct vt_settings *set, uint32_t count)
{
    struct vt_text t = vt_text_into(set->prefix, sizeof set->prefix);
    set->count = count;
    vt_text_add(&t, set->base, "_");
    vt_text_dec(&t, count);
}

void vt_place_add_process(struct vt_text *t)
{
    vt_text_add(t, "x", vt_process.head.host, "-");
    vt_text_dec(t, vt_process.head.pid);
    vt_text_add(t, "-");
    vt_text_hex(t, vt_process.head.start);
}

/* Reads VT_FILE_UNIQUE: yes, no or a positive number. 1 is a number, not yes, as in the guide. */
static void read_unique(struct vt_settings *set)
{
    const char *text = vt_setting_text("VT_FILE_UNIQUE");
    char *end = NULL;
    strcpy(set->unique_text, "no");
    set->unique = set->count = 0;
    if (!text || !*text) return;
    int yes = strcmp(text, "1") ? vt_setting_yes(text) : -1;
    if (!yes) return;
    if (yes > 0) {
        set->unique = VT_UNIQUE_YES;
        strcpy(set->unique_text, "yes");
        return;
    }
    unsigned long number = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
    if (!end || *end || !number || number > VT_COUNT_MOST) {
        if (set->speaks)
            vt_say(1, "VT_FILE_UNIQUE=%.100s is not yes, no or a number from 1 to %u: no is used", text, VT_COUNT_MOST);
        return;
    }
    set->unique = (uint32_t)number;
    struct vt_text t = vt_text_into(set->unique_text, sizeof set->unique_text);
    vt_text_dec(&t, number);
    vt_place_count(set, set->unique);
}

/* ---- Directories ---- */

/* The initial working directory, read before the program can change its directory. Empty: the directory does not exist
   any more, or its path is too long. */
static char here[sizeof((struct vt_settings *)0)->gdir];

__attribute__((constructor)) static void note_directory(void)
{
    static int noted;
    if (!noted && (VT_SYS2(getcwd, here, sizeof here) <= 0 || here[0] != '/')) here[0] = 0;
    noted = 1;
}

/* Expands text to an absolute path; a relative path begins at the initial directory. Returns 0 if the path is too long,
   or if a variable (*missing) is not set. */
static int read_path(const char *text, char *into, size_t bytes, const char **missing)
{
    struct vt_text t = vt_text_into(into, bytes), all = t;
    *missing = expand(text, &t);
    if (into[0] != '/') {
        t = all;
        vt_text_add(&t, here, "/");
        *missing = expand(text, &t);
    }
    return !*missing && t.at < t.end;
}

static int is_writable(const char *path) { return !VT_SYS4(faccessat, AT_FDCWD, path, W_OK | X_OK, 0); }

/* Reads a setting that names a directory. Creates the directory if the setting has %h, %p, %r or %j, since the user
   cannot know its name before the run. Returns 1: usable; 0: not set, or a variable is not set; -1: not writable; -2:
   another user has created the directory that this run would create. If the result is not 1, `into` gets the initial
   directory. */
static int read_directory(const char *name, char *into, size_t bytes)
{
    const char *text = vt_setting_text(name), *missing = NULL;
    int refused = -1;
    struct vt_text t;
    if (text && *text) {
        int fits = read_path(text, into, bytes, &missing);
        if (fits && strchr(text, '%')) VT_SYS3(mkdirat, AT_FDCWD, into, 0777);
        int made_by_other = fits && strchr(text, '%') && vt_is_strangers_directory(into);
        if (fits && is_writable(into) && !made_by_other) return 1;
        if (made_by_other) refused = -2;
        if (missing)
            vt_say(1, "%s=%.200s contains $%s, which is not set: %s is used", name, text, missing,
                   *here ? here : "no directory");
    }
    t = vt_text_into(into, bytes);
    vt_text_add(&t, here);
    return text && *text && !missing ? refused : 0;
}

/* Creates the directory in VT_FILE_PREFIX, and uses this directory instead of VT_PFORM_GDIR. */
static void take_directory(const char *asked, struct vt_settings *set)
{
    static char path[sizeof set->gdir];
    struct vt_text t = vt_text_into(path, sizeof path);
    if (!*asked) return;
    if (*asked != '/') vt_text_add(&t, here);
    if (*asked != '/' && strcmp(asked, ".")) vt_text_add(&t, "/");
    if (strcmp(asked, ".")) vt_text_add(&t, asked);
    for (char *at = strchr(path + 1, '/'); t.at < t.end && at; at = strchr(at + 1, '/')) {
        *at = 0;
        VT_SYS3(mkdirat, AT_FDCWD, path, 0777);
        *at = '/';
    }
    if (t.at < t.end) VT_SYS3(mkdirat, AT_FDCWD, path, 0777);
    int made_by_other = t.at < t.end && vt_is_strangers_directory(path);
    if (t.at < t.end && is_writable(path) && !made_by_other) strcpy(set->gdir, path);
    else
        vt_say(1, "VT_FILE_PREFIX=%.200s is %s: %s is used", vt_setting_text("VT_FILE_PREFIX"),
               made_by_other ? "in a directory that another user has created" : "not in a writable directory",
               set->gdir);
}

static int is_told; /* 1: a message has said that no directory is usable */

/* Prints one line about both directories. global, local: results of read_directory. */
static void say_unusable(int global, int local)
{
    const char *instead = *here ? here : "no directory";
    int gdir = global < 0, ldir = local < 0;
    is_told = *here && global <= 0 && local <= 0 && !is_writable(here);
    const char *then = is_told ? "is not writable either, and nothing is recorded" : "is used";
    if (gdir && ldir)
        vt_say(1, "VT_PFORM_GDIR=%.200s and VT_PFORM_LDIR=%.200s are not writable directories: %s %s",
               vt_setting_text("VT_PFORM_GDIR"), vt_setting_text("VT_PFORM_LDIR"), instead, then);
    else
        vt_say(1, "VT_PFORM_%s=%.200s is %s: %s %s", gdir ? "GDIR" : "LDIR",
               vt_setting_text(gdir ? "VT_PFORM_GDIR" : "VT_PFORM_LDIR"),
               (gdir ? global : local) == -2 ? "a directory that another user has created" : "not a writable directory",
               instead, then);
}

/* Returns 0 if a directory can hold files; -errno: the reason why not. */
static long refusal(const char *path)
{
    struct statfs fs;
    long r = VT_SYS4(faccessat, AT_FDCWD, path, W_OK | X_OK, 0);
    if (r < 0 || VT_SYS2(statfs, path, &fs) < 0 || !fs.f_blocks) return r;
    return (uint64_t)fs.f_bfree * (uint64_t)fs.f_bsize < VT_CHUNK_SIZE ? -ENOSPC : 0;
}

int vt_place_has_room(const struct vt_settings *set)
{
    long r = refusal(set->gdir);
    if (!r || !refusal(set->ldir)) return 1;
    if (!is_told)
        vt_warn("%s on %s is not writable (%s): nothing is recorded; set VT_PFORM_GDIR and VT_PFORM_LDIR to other "
                "directories",
                set->gdir, vt_process.head.host, vt_reason(r));
    return 0;
}

/* The name of a network file system (statfs(2)); NULL: local. On a network file system a mapping is slow, and the last
   stores may be lost. */
static const char *network(const char *path)
{
    static const struct {
        uint32_t magic;
        const char *name;
    } known[] = {
        {NFS_SUPER_MAGIC, "NFS"},   {0x0bd00bd0, "Lustre"},   {0x47504653, "GPFS"},     {0x19830326, "BeeGFS"},
        {CEPH_SUPER_MAGIC, "Ceph"}, {0xaad7aaea, "PanFS"},    {0xff534d42, "CIFS"},     {SMB_SUPER_MAGIC, "SMB"},
        {0xfe534d42, "SMB"},        {AFS_SUPER_MAGIC, "AFS"}, {0x013111a8, "OrangeFS"}, {0x20030528, "OrangeFS"},
        {0x01161970, "GFS2"},       {V9FS_MAGIC, "9P"},
    };
    struct statfs fs;
    if (VT_SYS2(statfs, path, &fs) < 0) return NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if ((uint32_t)fs.f_type == known[i].magic) return known[i].name;
    return NULL;
}

/* Chooses a local directory for the buffer if the current one is on a network file system. */
static void leave_network(struct vt_settings *set)
{
    const char *kind = *set->ldir ? network(set->ldir) : NULL, *temporary = getenv("TMPDIR");
    const char *const places[] = {temporary && *temporary == '/' ? temporary : "/tmp", "/tmp", "/var/tmp", "/dev/shm"};
    for (size_t i = 0; kind && i < sizeof places / sizeof *places; i++) {
        if (strlen(places[i]) >= sizeof set->ldir || !is_writable(places[i]) || network(places[i])) continue;
        if (set->speaks)
            vt_say(1,
                   "the current directory is on a network file system (%s): the buffer is in %s; set VT_PFORM_LDIR to "
                   "choose another directory",
                   kind, places[i]);
        strcpy(set->ldir, places[i]);
        return;
    }
}

void vt_place_read_path(const char *name, char *into, size_t bytes)
{
    const char *text = vt_setting_text(name), *missing;
    into[0] = 0;
    if (!text || !*text || read_path(text, into, bytes, &missing)) return;
    if (missing) vt_say(1, "%s=%.200s contains $%s, which is not set: no file is used", name, text, missing);
    else vt_say(1, "%s=%.200s is too long for a path: no file is used", name, text);
    into[0] = 0;
}

void vt_place_read(struct vt_settings *set)
{
    note_directory();
    set->processes = vt_launcher_processes();
    static char directory[sizeof set->gdir];
    read_prefix(set, directory, sizeof directory);
    strcpy(set->base, set->prefix);
    read_unique(set);
    int gdir = read_directory("VT_PFORM_GDIR", set->gdir, sizeof set->gdir);
    int ldir = read_directory("VT_PFORM_LDIR", set->ldir, sizeof set->ldir);
    if (gdir < 0 || ldir < 0) say_unusable(gdir, ldir);
    take_directory(directory, set);
    if (ldir <= 0) leave_network(set);
    set->slow_files = network(set->gdir) != NULL;
}
