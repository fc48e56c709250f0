/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of ITT whose records are known in closed form. The program plays the part of ittnotify_static.c
   (github.com/intel/ittapi), which PyPI has only inside a module of Python: it loads the library in
   INTEL_LIBITTNOTIFY64, gives it the table of its functions, and calls what the library has set.
   itt_calls [kill] */
#define _GNU_SOURCE
#include "program.h"

struct id {
    unsigned long long part[3];
};
struct domain {
    volatile int enabled;
    const char *name;
    void *wide;
    int reserved;
    void *reserved2;
    struct domain *next;
};
typedef struct domain *D;
typedef void *S;

/* clang-format off */
#define CALLS(X)                                                                                                       \
    X(D, domain_create, (const char *)) X(S, string_handle_create, (const char *))                                     \
    X(void, task_begin, (D, struct id, struct id, S)) X(void, task_end, (D))                                           \
    X(void, task_begin_overlapped, (D, struct id, struct id, S)) X(void, task_end_overlapped, (D, struct id))          \
    X(void, region_begin, (D, struct id, struct id, S)) X(void, region_end, (D, struct id))                            \
    X(void, frame_begin_v3, (D, struct id *)) X(void, frame_end_v3, (D, struct id *))                                  \
    X(void, marker, (D, struct id, S, int)) X(void *, counter_create_typed, (const char *, const char *, int))         \
    X(void *, counter_create, (const char *, const char *)) X(void, counter_set_value, (void *, void *))               \
    X(void, counter_inc_delta, (void *, unsigned long long)) X(int, event_create, (const char *, int))                 \
    X(int, event_start, (int)) X(int, event_end, (int)) X(void, thread_set_name, (const char *))                       \
    X(void, relation_add, (D, struct id, int, struct id)) X(void, relation_add_to_current, (D, int, struct id))        \
    X(void, pause, (void)) X(void, resume, (void)) X(void, sync_prepare, (void *))
/* clang-format on */
#define DECLARE(type, name, parameters) static type(*itt_##name) parameters;
CALLS(DECLARE)

struct api {
    const char *name;
    void **pointer;
    void *at_first, *none;
    int group;
};
#define ENTRY(type, name, parameters) {"__itt_" #name, (void **)&itt_##name, NULL, NULL, 0},
static struct api apis[] = {CALLS(ENTRY){0}};

static struct {
    unsigned char magic[8];
    unsigned long version[3];
    volatile long state[3];
    pthread_mutex_t mutex;
    void *library, *on_error;
    const char **path;
    struct api *apis;
} global = {.apis = apis};

static const struct id none;
static D solver;
static S part, whole;

static void *thread(void *unused)
{
    (void)unused;
    itt_thread_set_name("itt worker");
    for (int i = 0; i < 100; i++) {
        itt_task_begin(solver, none, none, part);
        itt_task_end(solver);
    }
    const struct id first = {{1, 2, 3}}, second = {{1, 2, 4}};
    itt_task_end_overlapped(solver, first);
    itt_region_end(solver, second);
    itt_task_end_overlapped(solver, first); /* no such task is open */
    return NULL;
}

static void tasks(void)
{
    pthread_t t;
    const struct id first = {{1, 2, 3}}, second = {{1, 2, 4}};
    itt_task_begin_overlapped(solver, first, none, whole);
    itt_region_begin(solver, second, none, whole);
    pthread_create(&t, NULL, thread, NULL);
    pthread_join(t, NULL);
    itt_task_begin(solver, none, none, whole);
    itt_task_begin(solver, none, none, part);
    itt_task_end(solver);
    itt_task_end(solver);
    itt_task_end(solver);
}

int main(int argc, char **argv)
{
    const char *path = getenv("INTEL_LIBITTNOTIFY64");
    global.library = path ? dlopen(path, RTLD_LAZY) : NULL;
    if (!global.library) return 3;
    void (*init)(void *, unsigned) = (void (*)(void *, unsigned))dlsym(global.library, "__itt_api_init");
    if (!init) return 4;
    init(&global, 0xffff);
    if (!itt_task_begin || itt_sync_prepare) return 5;
    static struct domain earlier = {1, "earlier", NULL, 0, NULL, NULL}; /* created before the library was loaded */
    solver = itt_domain_create("solver");
    if (solver != itt_domain_create("solver") || !solver->enabled || strcmp(solver->name, "solver")) return 6;
    part = itt_string_handle_create("part");
    whole = itt_string_handle_create("whole");
    tasks();
    itt_task_begin(&earlier, none, none, part);
    itt_task_end(&earlier);
    struct id frame = {{7, 0, 0}};
    itt_frame_begin_v3(solver, NULL);
    itt_frame_begin_v3(solver, &frame);
    itt_frame_end_v3(solver, NULL);
    itt_frame_end_v3(solver, &frame);
    const struct id parent = {{40, 0, 0}}, child = {{41, 0, 0}};
    itt_task_begin(&earlier, parent, none, whole);
    itt_task_begin(&earlier, child, parent, part);
    itt_relation_add_to_current(&earlier, 1, parent); /* is dependent on */
    itt_relation_add(&earlier, parent, 7, child); /* is predecessor to */
    itt_task_end(&earlier);
    itt_task_end(&earlier);
    itt_marker(solver, none, part, 1);
    double load = 0.5;
    unsigned long long five = 5;
    itt_counter_set_value(itt_counter_create_typed("load", "counts", 8), &load);
    void *queue = itt_counter_create("queue", "counts");
    itt_counter_set_value(queue, &five);
    itt_counter_inc_delta(queue, 3);
    int event = itt_event_create("event!", 5);
    itt_event_start(event);
    itt_event_end(event);
    itt_pause();
    itt_task_begin(solver, none, none, whole);
    itt_task_end(solver);
    itt_resume();
    if (argc > 1 && !strcmp(argv[1], "kill")) raise(SIGKILL);
    return 0;
}
