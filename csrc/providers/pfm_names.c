/* SPDX-License-Identifier: BSD-3-Clause */
/* libpfm4 calls malloc and opens files, which must not appear in the trace as the program's own calls. The library is
   loaded when a name is not one of the kernel's. The structures are those of libpfm4's header files, which a machine
   without its development package does not have. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/perf_event.h>
#include <string.h>
#include "provider.h"

#define NAME_BYTES 256
#define MOST_PMUS 4096
#define SUCCESS 0
#define ALL_LEVELS (1 | 8) /* PFM_PLM0 | PFM_PLM3: in the kernel and in the program */
#define OS_PERF_EVENT 1

/* pfm_perf_encode_arg_t */
struct pfm_encoding {
    struct perf_event_attr *attributes;
    char **name;
    size_t size;
    int index, cpu, flags, reserved;
};

/* pfm_pmu_info_t */
struct pfm_pmu {
    const char *name, *description;
    size_t size;
    int number, type, nevents, first_event, max_encoding, counters, fixed_counters;
    unsigned is_present : 1, is_default : 1, reserved : 30;
};

/* pfm_event_info_t */
struct pfm_event {
    const char *name, *description, *equivalent;
    size_t size;
    uint64_t code;
    int pmu, data_type, index, attributes, reserved;
    unsigned flags;
};

static struct {
    int is_loaded; /* 1: the library was searched for; 2: it was found */
    int (*initialize)(void);
    int (*encode)(const char *, int, int, void *);
    int (*pmu)(int, struct pfm_pmu *);
    int (*event)(int, int, struct pfm_event *);
    int (*next)(int);
} pfm;

/* Between these two functions the shims record no call of the thread, and no handler of the program runs. */
struct silence {
    struct vt_own_work work;
    uint64_t mask;
};

static struct silence silence_begin(void)
{
    struct silence s;
    vt_hold_signals(&s.mask);
    s.work = vt_own_work_begin();
    return s;
}

static void silence_end(const struct silence *s)
{
    vt_own_work_end(&s->work);
    vt_release_signals(&s->mask);
}

static int load(void)
{
    if (pfm.is_loaded) return pfm.is_loaded == 2;
    pfm.is_loaded = 1;
    void *library = dlopen("libpfm.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!library) return 0;
    *(void **)&pfm.initialize = dlsym(library, "pfm_initialize");
    *(void **)&pfm.encode = dlsym(library, "pfm_get_os_event_encoding");
    *(void **)&pfm.pmu = dlsym(library, "pfm_get_pmu_info");
    *(void **)&pfm.event = dlsym(library, "pfm_get_event_info");
    *(void **)&pfm.next = dlsym(library, "pfm_get_event_next");
    if (!pfm.initialize || !pfm.encode || !pfm.pmu || !pfm.event || !pfm.next || pfm.initialize() != SUCCESS) return 0;
    pfm.is_loaded = 2;
    return 1;
}

int vt_pfm_find(const char *name, size_t length, struct vt_perf_event *found)
{
    struct perf_event_attr attributes;
    struct pfm_encoding encoding = {.attributes = &attributes, .size = sizeof encoding};
    char text[NAME_BYTES];
    if (!length || length >= sizeof text || memchr(name, 0, length)) return 0;
    memcpy(text, name, length);
    text[length] = 0;
    memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    struct silence silence = silence_begin();
    int is_known = load() && pfm.encode(text, ALL_LEVELS, OS_PERF_EVENT, &encoding) == SUCCESS;
    silence_end(&silence);
    if (!is_known) return 0;
    *found = (struct vt_perf_event){.type = attributes.type,
                                    .config = attributes.config,
                                    .config1 = attributes.config1,
                                    .config2 = attributes.config2,
                                    .without_user = attributes.exclude_user,
                                    .without_kernel = attributes.exclude_kernel};
    return 1;
}

static void visit_events(const struct pfm_pmu *pmu, void (*visit)(const char *, void *), void *data)
{
    for (int i = pmu->first_event; i >= 0; i = pfm.next(i)) {
        struct pfm_event event = {.size = sizeof event};
        char name[NAME_BYTES];
        struct vt_text t = vt_text_into(name, sizeof name);
        if (pfm.event(i, OS_PERF_EVENT, &event) != SUCCESS || !event.name) continue;
        vt_text_add(&t, pmu->name, "::", event.name);
        visit(name, data);
    }
}

void vt_pfm_names(struct vt_text *into)
{
    for (int i = 0; pfm.is_loaded == 2 && i < MOST_PMUS; i++) {
        struct pfm_pmu pmu = {.size = sizeof pmu};
        if (pfm.pmu(i, &pmu) != SUCCESS || !pmu.is_present || !pmu.name) continue;
        vt_text_add(into, pmu.name, " ");
    }
}

void vt_pfm_each(void (*visit)(const char *name, void *data), void *data)
{
    struct silence silence = silence_begin();
    for (int i = 0; load() && i < MOST_PMUS; i++) {
        struct pfm_pmu pmu = {.size = sizeof pmu};
        if (pfm.pmu(i, &pmu) == SUCCESS && pmu.is_present && pmu.name) visit_events(&pmu, visit, data);
    }
    silence_end(&silence);
}
