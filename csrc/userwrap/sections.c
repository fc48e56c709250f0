/* SPDX-License-Identifier: BSD-3-Clause */
/* Sections: parts of the program that nest and overlap freely, so that they are no regions. A section belongs to the
   thread that starts it. Each has a metric of its own, whose value is 1 while the section is open and 0 afterwards.

   A start inside an open section of the same name and number is counted and not recorded: the section that began first
   lasts until its own stop. The count continues while recording is off, so that a stop finds its start.

   all/0 is the whole run: with VT_SECTION_LEVEL, each thread has this section from the thread's start to its end. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include "userwrap.h"

#define SECTIONS 8192u
#define NAME_MOST 1024u
#define ALL "all" /* number 0: the whole run */
#define TOFU "tofupa" /* number 0: the time from MPI_Init to MPI_Finalize */
#define TOFU_MOST 4095
#define VT_SECTION_COLLECTION (-1) /* the level in csrc/include/fjcoll.h */

/* Indexed by the number of a section in this process, from 1 on. */
static uint32_t metrics[SECTIONS];
static _Atomic uint32_t sections;
static uint32_t whole_run; /* the number of all/0; 0: it is not recorded */

/* The sections of a thread: the number of open starts of each. */
struct open_sections {
    uint32_t times[SECTIONS];
};

/* NULL: the location has none yet. */
static struct open_sections *sections_of(const struct vt_location *l) { return l->slot[VT_SLOT_SECTIONS]; }

static uint32_t define_section(const struct vt_user_key *key)
{
    char name[NAME_MOST + sizeof "/-2147483648"];
    struct vt_location *l = vt_location_of_thread(0);
    uint32_t number = atomic_fetch_add(&sections, 1) + 1;
    if (number >= SECTIONS)
        vt_warn_left_out("user", "more than %u sections: further sections are not recorded", SECTIONS - 1);
    uint64_t id = l && number < SECTIONS ? vt_new_id(VT_ID_METRIC) : 0;
    if (!id) return 0;
    snprintf(name, sizeof name, "%.*s/%d", (int)NAME_MOST, key->text[0], (int)key->number);
    if (!vt_define_at(l, VT_D_METRIC, vt_number(id), vt_string(name), vt_string(VT_SECTION_UNIT), vt_string("u"),
                      vt_string("n"), vt_bool(0)))
        return 0;
    metrics[number] = (uint32_t)id;
    vt_sections_begin();
    return number;
}

static struct open_sections *open_sections(void)
{
    struct vt_location *l = vt_own_location;
    if (VT_LIKELY(l && sections_of(l))) return sections_of(l);
    l = vt_location_of_thread(0);
    if (l && !sections_of(l)) l->slot[VT_SLOT_SECTIONS] = vt_pages(sizeof(struct open_sections));
    return l ? sections_of(l) : NULL;
}

/* Returns the number of a section in this process; 0: it is not recorded. */
static uint32_t section_of(const char *name, int number)
{
    const struct vt_user_key key = {.kind = VT_USER_SECTION, .number = (uint32_t)number, .text = {name}};
    return open_sections() ? vt_user_id(&key, define_section) : 0;
}

/* Returns 1 for the number of a section; 0: the section is not recorded, or a program gives another number. */
static int is_section(uint32_t section)
{
    if (VT_LIKELY(section && section < SECTIONS && metrics[section])) return 1;
    if (section) VT_USER_UNDEFINED("user", "section", section);
    return 0;
}

static void start(uint32_t section)
{
    struct open_sections *open = open_sections();
    if (!open || !is_section(section) || open->times[section]++) return;
    vt_write_few(VT_HEAD(VT_K_SECTION, 1, metrics[section]), 1, 0, 0, 0, 2);
}

static void stop(uint32_t section)
{
    struct open_sections *open = open_sections();
    if (!open || !is_section(section) || !open->times[section] || --open->times[section]) return;
    vt_write_few(VT_HEAD(VT_K_SECTION, 1, metrics[section]), 0, 0, 0, 0, 2);
}

/* The settings are known when the thread has its open sections. */
static int is_measured(int level)
{
    if (!open_sections() || level > (int64_t)vt_process.set.section_level) return 0;
    const uint64_t routines = vt_process.set.section_routines;
    return routines == VT_SECTIONS_ALL || (routines == VT_SECTIONS_COLLECTION) == (level == VT_SECTION_COLLECTION);
}

/* vtrace itself uses the sections all/0 and tofupa/0. */
static int is_reserved(const char *name, int number)
{
    if (number || (strcmp(name, ALL) && strcmp(name, TOFU))) return 0;
    if (strcmp(name, TOFU))
        vt_warn("the program's own section " ALL "/0 is not recorded: the name means the whole run");
    else vt_warn("the program's own section " TOFU "/0 is not recorded: the name means MPI_Init to MPI_Finalize");
    return 1;
}

VT_PUBLIC unsigned int VT_User_section__(const char *name, int number, int level, unsigned int *site)
{
    int is_recorded = name && is_measured(level) && !is_reserved(name, number);
    uint32_t section = is_recorded ? section_of(name, number) : 0;
    if (site && section) VT_SET(*site, section);
    return section;
}

VT_PUBLIC void VT_User_section_start2__(unsigned int section, int level)
{
    if (is_measured(level)) start(section);
}

VT_PUBLIC void VT_User_section_stop2__(unsigned int section, int level)
{
    if (is_measured(level)) stop(section);
}

VT_PUBLIC void VT_User_section_start__(const char *name, int number, int level)
{
    start(VT_User_section__(name, number, level, NULL));
}

VT_PUBLIC void VT_User_section_stop__(const char *name, int number, int level)
{
    stop(VT_User_section__(name, number, level, NULL));
}

/* A program may have sections of Tofu PA and others, so Tofu PA's level is a variable of its own. */
static int tofu_level(void)
{
    static _Atomic int known = INT_MIN;
    int level = atomic_load_explicit(&known, memory_order_relaxed);
    if (level == INT_MIN) {
        const char *text = getenv("FJ_TOFUPA_LEVEL");
        level = text && *text ? atoi(text) : -1;
        atomic_store_explicit(&known, level, memory_order_relaxed);
    }
    return level;
}

/* begins: 1 for fj_tofupa_start, 0 for fj_tofupa_stop. */
VT_PUBLIC void VT_User_tofu_section__(int region, int level, int begins)
{
    if (region < 1 || region > TOFU_MOST || level >= tofu_level()) return;
    if (begins) start(section_of(TOFU, region));
    else stop(section_of(TOFU, region));
}

/* ---- Threads ---- */

static void thread_begins(struct vt_location *l)
{
    if (sections_of(l))
        memset(sections_of(l), 0, sizeof(struct open_sections)); /* those of the previous thread of the location */
}

static void thread_has_begun(struct vt_location *l)
{
    (void)l;
    if (whole_run) start(whole_run);
}

static void thread_ends(struct vt_location *l)
{
    if (sections_of(l)) stop(whole_run);
}

static struct vt_thread_follower follower = {
    .begins = thread_begins, .has_begun = thread_has_begun, .ends = thread_ends, .exits = thread_ends};

/* CMake sorts the files of the library, so that this constructor runs after that of the counters, which all/0 has. */
__attribute__((constructor)) static void begin_run(void)
{
    const char *level = vt_setting_text("VT_SECTION_LEVEL");
    vt_on_threads(&follower);
    if (!level || !*level || getenv("VTRACE_LISTS")) return;
    int saved = errno;
    whole_run = section_of(ALL, 0);
    start(whole_run);
    errno = saved;
}

/* ---- Sections to sample ---- */

/* Sections of the program to sample: fipp_start and fipp_stop of the Instant Profiler (include/fj_tool/fipp.h). With
   VT_SAMPLE_SECTIONS only the samples inside sections are kept. The timers continue outside, so that each sample inside
   stands for the same time as without sections. Sections do not nest, and need not nest with the program's functions:
   markers show them on the timeline, with the CPU time of the process until then. */

static void add_time(struct vt_text *t, struct timeval time, const char *mode)
{
    vt_text_dec(t, (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec);
    vt_text_add(t, mode);
}

static void mark(const char *name)
{
    char text[96];
    struct rusage usage;
    struct vt_text t = vt_text_into(text, sizeof text);
    vt_text_add(&t, "sampled section");
    if (VT_SYS2(getrusage, RUSAGE_SELF, &usage) >= 0) {
        vt_text_add(&t, "; process: ");
        add_time(&t, usage.ru_utime, " us user, ");
        add_time(&t, usage.ru_stime, " us system");
    }
    VT_User_marker__(VT_User_marker_def__(name, VT_MARKER_HINT), text);
}

/* begins: 1 for fipp_start, 0 for fipp_stop. */
VT_PUBLIC void VT_User_sample_section__(int begins)
{
    if (!vt_location_of_thread(0) || !vt_process.set.sample_sections || !vt_process.set.sample_period) return;
    if (atomic_exchange(&vt_process.unsampled, !begins) == (uint32_t)!begins) return;
    mark(begins ? "fipp_start" : "fipp_stop");
}
