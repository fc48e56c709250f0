/* SPDX-License-Identifier: BSD-3-Clause */
/* A recording process: starts at the first event, gets its rank at MPI_Init, and starts again in a forked child. The
   end of recording is in end.c. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include "process.h"

#ifndef VT_VERSION
#define VT_VERSION "development"
#endif
/* in tenths of a millisecond: limit for which a second thread waits until the first thread has started the runtime */
#define START_WAIT 50000

/* this thread is starting the runtime */
static _Thread_local volatile int inside __attribute__((tls_model("initial-exec")));
/* id of the process in which this thread gets no location */
static _Thread_local uint32_t refused __attribute__((tls_model("initial-exec")));
static const char *mpi; /* MPI of the shim, such as "MPICH 5.0.2"; NULL: no MPI calls are recorded */
static int has_thread_end;
static uint64_t loaded; /* CLOCK_MONOTONIC_RAW when the program began */
static int started; /* this process or a parent has started recording */
/* drawn when the library is loaded, so that children forked before the first event belong to the same run */
static uint8_t new_run[16];

/* The command line as of the start: programs write titles into the memory from which the kernel reads it. */
static char command[VT_CHUNK_SIZE / 2];
static long command_bytes;

/* Runs in the child after fork. Before Linux 4.14 only this function distinguishes the child from its parent, since the
   kernel does not wipe pages. */
static void in_child(void)
{
    *vt_process.alive = 0;
    vt_process.pid = (uint32_t)VT_SYS0(getpid);
    vt_lineage_forked();
    if (vt_own_location) VT_SET(vt_own_location->limit, NULL);
    vt_bind_location(NULL);
    vt_buffer_forget();
}

/* Stores pid, time, command and run id before the program's own code runs. */
__attribute__((constructor)) static void note_start(void)
{
    if (vt_process.alive) return;
    vt_process.page_size = (uint32_t)getauxval(AT_PAGESZ);
    vt_process.pid = (uint32_t)VT_SYS0(getpid);
    vt_text_start();
    loaded = vt_clock_ns(CLOCK_MONOTONIC_RAW);
    command_bytes = vt_read_file("/proc/self/cmdline", command, sizeof command);
    vt_process.alive = vt_pages_wiped(VT_PAGE);
    if (!vt_process.alive) return;
    VT_SET(*vt_process.alive, vt_process.pid);
    if (!vt_lineage_run(new_run) && VT_SYS3(getrandom, new_run, sizeof new_run, 0) != sizeof new_run) {
        uint64_t now = vt_clock_ns(CLOCK_REALTIME);
        memcpy(new_run, &now, 8);
        memcpy(new_run + 8, &vt_process.pid, 4);
    }
    pthread_atfork(NULL, NULL, in_child);
    /* A program that a traced program starts appears in the trace, even if it records nothing else. */
    if (vt_lineage_has_parent()) vt_location_of_thread(0);
}

/* The first 64 bits of the boot id and the inode of the PID namespace: containers of a host may have the host's name,
   but process ids of their own. */
static uint64_t pid_space(void)
{
    char boot[64];
    struct stat space;
    if (vt_read_file("/proc/sys/kernel/random/boot_id", boot, sizeof boot) < 18) return VT_NO_PID_SPACE;
    if (VT_SYS4(newfstatat, AT_FDCWD, "/proc/self/ns/pid", &space, 0) < 0) return VT_NO_PID_SPACE;
    const uint64_t begin = strtoull(boot, NULL, 16), middle = strtoull(boot + 9, NULL, 16);
    return (begin << 32 | middle << 16 | strtoull(boot + 14, NULL, 16)) ^ (uint64_t)space.st_ino;
}

static void new_head(void)
{
    struct vt_file *h = &vt_process.head;
    struct utsname host;
    memset(h, 0, sizeof *h);
    memcpy(h->magic, VT_FILE_MAGIC, sizeof h->magic);
    h->version = VT_FORMAT_VERSION;
    h->content = VT_DEFINITIONS;
    h->clock = (uint8_t)vt_clock_choose();
    h->head_bytes = VT_FILE_HEAD;
    h->rank = vt_process.name_rank = VT_NO_RANK;
    h->pid = (uint32_t)VT_SYS0(getpid);
    h->pid_space = pid_space();
    h->pair = vt_clock_measure();
    h->start = h->pair.real;
    memcpy(h->run, new_run, sizeof h->run);
    strcpy(h->tool, "vtrace " VT_VERSION);
    if (!VT_SYS1(uname, &host)) memcpy(h->host, host.nodename, sizeof h->host - 1);
    if (!h->host[0]) strcpy(h->host, "localhost");
    strcpy(h->prefix, vt_process.set.prefix);
    strcpy(h->directory, vt_process.set.gdir);
}

/* The property "cores": the cores that the process may use, such as "0-3,8". Ranks that share cores wait for each other
   longer than their program makes them. text: a buffer. */
static void define_cores(struct vt_location *l, char *text, size_t bytes)
{
    if (vt_read_file("/proc/self/status", text, bytes) <= 0) return;
    char *list = strstr(text, "\nCpus_allowed_list:");
    if (!list) return;
    list += strlen("\nCpus_allowed_list:");
    list += strspn(list, " \t");
    list[strcspn(list, "\n")] = 0;
    vt_define_property(l, "cores", list);
}

/* Defines the properties of the process. The main thread calls this function; if it has recorded nothing, the thread
   that ends the program does. */
void vt_define_process(struct vt_location *l)
{
    static char text[VT_CHUNK_SIZE / 8]; /* a path, or /proc/self/status */
    uint32_t words = 0;
    for (long i = 0; i < command_bytes; i++) words += !command[i];
    vt_define_at(l, VT_D_PROPERTY, vt_string("command"), vt_value_of(VT_VALUE_WORDS, command, words));
    vt_executable(text, sizeof text);
    vt_define_property(l, "executable", text);
    if (VT_SYS2(getcwd, text, sizeof text) > 0) vt_define_property(l, "directory", text);
    define_cores(l, text, sizeof text);
    vt_define_settings(l);
    vt_groups_define(l);
}

/* Takes names and directories from the parent. Without a parent the prefix may get a number of its own. All ranks have
   the same number: ranks that are not the first by the launcher's environment get the number at MPI_Init. Returns 0 if
   VT_EXECTRACE excludes programs that a traced program starts. */
static int find_family(void)
{
    struct vt_settings *set = &vt_process.set;
    int has_parent = vt_lineage_read(&vt_process.head, set);
    if (vt_lineage_has_parent() && !set->exectrace) return 0;
    if (!has_parent) vt_launcher_run(&vt_process.head);
    if (!has_parent && set->unique == VT_UNIQUE_YES && set->speaks) {
        long taken = vt_names_claim();
        vt_names_settle();
        vt_names_disclaim(taken);
    }
    strcpy(vt_process.head.prefix, set->prefix);
    strcpy(vt_process.head.directory, set->gdir);
    return 1;
}

static void inherit(const struct vt_file *parent)
{
    struct vt_file *h = &vt_process.head;
    memcpy(h->run, parent->run, sizeof h->run);
    h->parent_pid = parent->pid;
    h->parent_start = parent->start;
    h->forked = 1;
}

/* parent: head of the process that forked this process; NULL for the first image of a program. Returns 1 if the process
   records. */
static int start(const struct vt_file *parent)
{
    int first = !started; /* a forked child may have changed its directory; it keeps the directory of its parent */
    if ((first && vt_is_launcher()) || vt_end_is_over()) return 0;
    int later = first && vt_lineage_has_parent(); /* may record nothing, as most programs that a script starts */
    vt_process.pid = (uint32_t)VT_SYS0(getpid);
    VT_SET(*vt_process.alive, vt_process.pid);
    if (first) {
        vt_settings_read(&vt_process.set);
        vt_window_prepare();
        vt_groups_load();
        vt_filter_load();
        if (vt_process.set.processor_wait) vt_thread_waits_start();
    }
    new_head();
    vt_overhead_start();
    if (parent) inherit(parent);
    if (vt_process.set.mode == VT_MODE_PROFILE) vt_process.head.forked |= VT_COUNTS;
    if (first) vt_window_start(loaded - (uint64_t)vt_clock_shift);
    if (first && !find_family()) return 0;
    /* number 0 belongs to the main thread, even if another thread records first */
    atomic_store(&vt_process.locations, 1);
    if (!*vt_process.set.gdir) {
        vt_warn(
            "the current directory does not exist or its path is too long: nothing is recorded; set VT_PFORM_GDIR and "
            "VT_PFORM_LDIR to other directories");
        return 0;
    }
    if (!vt_place_has_room(&vt_process.set)) return 0;
    if (later ? !vt_buffer_open_later() : !vt_buffer_open()) {
        vt_warn("no memory for the buffer: nothing is recorded; raise the limit on memory (ulimit -v)");
        return 0;
    }
    if (first) has_thread_end = vt_thread_start();
    if (first) vt_signal_start();
    if (first || parent) vt_lineage_tell();
    started = 1;
    if (!later) vt_file_start();
    return 1;
}

static int become_child(void)
{
    static struct vt_file parent;
    parent = vt_process.head;
    for (uint32_t i = 0; i < atomic_load(&vt_process.locations) && i < VT_MAX_LOCATIONS; i++)
        atomic_store(&vt_locations[i], NULL);
    atomic_store(&vt_process.lost, 0);
    atomic_store(&vt_process.written, 0);
    atomic_store(&vt_process.profile_chunks, 0);
    atomic_store(&vt_process.profile_rows, 0);
    atomic_store(&vt_process.max_size, 0);
    atomic_store(&vt_process.all_at, 0);
    atomic_store(&vt_process.full, VT_FULL_NOT);
    atomic_store(&vt_process.ended, 0);
    vt_process.named = vt_process.first = 0;
    vt_bind_location(NULL);
    return start(&parent);
}

/* Returns 1 if this thread may start the runtime: it is the first thread, or the process is a forked child and a thread
   of its parent was starting the runtime at the fork. */
static int may_start(int state, uint32_t me)
{
    uint32_t starter = atomic_load(&vt_process.starter);
    if (state == VT_STARTING) return starter != me && atomic_compare_exchange_strong(&vt_process.starter, &starter, me);
    atomic_store(&vt_process.starter, me);
    return atomic_compare_exchange_strong(&vt_process.state, &state, VT_STARTING);
}

/* Returns 1 if the process records. */
static int start_once(void)
{
    uint32_t me = (uint32_t)VT_SYS0(getpid);
    note_start();
    for (int i = 0; i < START_WAIT && vt_process.alive; i++) {
        int state = atomic_load(&vt_process.state);
        if (state >= VT_ENDED) return 0;
        if (state == VT_ON && VT_READ(*vt_process.alive) == me) return 1;
        if (!may_start(state, me)) vt_pause();
        else atomic_store(&vt_process.state, (started ? become_child() : start(NULL)) ? VT_ON : VT_FAILED);
    }
    return 0;
}

static void define_helper(struct vt_location *l)
{
    char key[24];
    struct vt_text t = vt_text_into(key, sizeof key);
    vt_text_add(&t, "helper.");
    vt_text_dec(&t, l->number);
    vt_define_property(l, key, l->helper);
}

static struct vt_location *begin_thread(void)
{
    struct vt_location *l = vt_location_new((uint32_t)VT_SYS0(gettid));
    if (!l) {
        refused = (uint32_t)VT_SYS0(getpid);
        return NULL;
    }
    if (has_thread_end) vt_thread_watch(l);
    vt_bind_location(l);
    if (!l->number) vt_define_process(l);
    if (vt_buffer_is_later()) vt_file_flush(l); /* a killed process appears in the trace */
    if (l->helper) define_helper(l);
    vt_thread_began(l);
    return l;
}

/* Code of .preinit_array runs before the constructors of libc, so it cannot read settings. */
static int is_early(void) { return !vt_process.alive && !environ; }

/* Returns the location of the calling thread; creates the location at the thread's first event. Returns NULL if the
   thread is not recorded. */
struct vt_location *vt_location_of_thread(unsigned events)
{
    struct vt_location *l = vt_own_location;
    int saved = errno;
    uint64_t mask;
    if (l && l->in_use) return l;
    if (vt_suppressed || atomic_load(&vt_process.state) >= VT_ENDED || vt_is_other_process()) return NULL;
    l = NULL;
    if (!is_early() && !inside && refused != (uint32_t)VT_SYS0(getpid)) {
        inside = 1; /* the start may call traced functions, such as the program's own malloc */
        vt_hold_signals(&mask);
        if (start_once()) l = begin_thread();
        if (l) l->blocked = mask;
        vt_release_signals(&mask);
        inside = 0;
    }
    if (!l) atomic_fetch_add(&vt_process.lost, events);
    errno = saved;
    return l;
}

int vt_attach(const struct vt_shim *shim)
{
    if ((inside || is_early()) && (shim->kind == VT_SHIM_IO || shim->kind == VT_SHIM_MEMORY)) return -1;
    struct vt_location *l = vt_settings_want(shim->kind) ? vt_location_of_thread(0) : NULL;
    if (!l) return 0;
    if (shim->abi > VT_ABI) {
        vt_warn("the program was built with vtrace %s, newer than this library (vtrace " VT_VERSION
                "): its %s calls are not recorded; run the program with the newer vtrace",
                shim->version, shim->kind == VT_SHIM_MPI ? "MPI" : shim->name);
        return 0;
    }
    vt_switch_attach(shim);
    vt_memory_attach(shim);
    if (shim->kind == VT_SHIM_MPI) {
        mpi = shim->name;
        vt_define_property(l, "shim.mpi", mpi);
    }
    const int records = vt_settings_allow(shim->kind);
    if (records) vt_sections_attach(shim);
    return records;
}

/* A launcher has started the process, and its MPI_Init is that of the MPI library. */
int vt_process_lacks_shim(void)
{
    void *first = VT_OWN_WORK(dlsym(RTLD_DEFAULT, "MPI_Init")), *real = VT_OWN_WORK(dlsym(RTLD_DEFAULT, "PMPI_Init"));
    Dl_info of_first, of_real;
    if (mpi || !first || !real || !vt_process.set.mpitrace || !vt_launcher_rank()) return 0;
    return dladdr(first, &of_first) && dladdr(real, &of_real) && of_first.dli_fbase == of_real.dli_fbase;
}

void vt_run_id(uint8_t run[16]) { memcpy(run, vt_process.head.run, 16); }

uint64_t vt_random(void)
{
    uint64_t r = 0;
    while (!r)
        if (VT_SYS3(getrandom, &r, sizeof r, 0) != sizeof r) r = vt_now();
    return r;
}

/* Sets the rank and renames the files that exist under the old name. The locks keep all locations from writing in the
   meantime: they would look for the new name. */
static void set_rank(uint32_t rank, uint32_t name_rank, uint32_t world_size, uint64_t world, const uint8_t *run)
{
    struct vt_file *h = &vt_process.head;
    uint32_t n = atomic_load(&vt_process.locations), old = vt_process.name_rank, me = (uint32_t)VT_SYS0(gettid);
    static char prefix[sizeof h->prefix]; /* the old prefix */
    uint64_t mask, inner;
    vt_hold_signals(&mask);
    for (uint32_t i = 0; i < n && i < VT_MAX_LOCATIONS; i++) {
        struct vt_location *l = atomic_load(&vt_locations[i]);
        if (l) vt_location_lock(l);
    }
    vt_lock(&vt_process.naming, &inner);
    strcpy(prefix, h->prefix);
    strcpy(h->prefix, vt_process.set.prefix);
    h->rank = rank;
    vt_process.name_rank = name_rank;
    h->world_size = world_size;
    h->world = world;
    memcpy(h->run, run, sizeof h->run);
    vt_buffer_tell();
    vt_process.named = 1;
    vt_lineage_tell();
    if (!atomic_load(&vt_locations[0])) vt_file_rename(NULL, prefix, old);
    for (uint32_t i = 0; i < n && i < VT_MAX_LOCATIONS; i++) {
        struct vt_location *l = atomic_load(&vt_locations[i]);
        if (!l || atomic_load(&l->lock) != me) continue;
        vt_file_rename(l, prefix, old);
        vt_location_unlock(l);
    }
    vt_unlock(&vt_process.naming, &inner);
    vt_release_signals(&mask);
}

/* descriptor of the lock on the names, held from the choice of a number until the names are taken */
static long claim = -1;

uint32_t vt_take_count(void)
{
    if (!vt_location_of_thread(0)) return 0;
    if (!vt_process.named && vt_process.first && claim < 0) {
        claim = vt_names_claim();
        vt_names_settle();
    }
    return vt_process.set.count;
}

/* If MPI_COMM_WORLD has one rank, but the launcher started several processes, the MPI library does not belong to the
   launcher. Prints one message and defines a property. Returns the launcher's rank, which the file names then contain:
   each such process is rank 0 of its own world. */
static uint32_t rank_of_name(const struct vt_world *w, struct vt_location *l)
{
    static char text[128];
    struct vt_launched launched;
    if (w->world_size != 1 || !vt_find_launcher(&launched)) return w->rank;
    struct vt_text t = vt_text_into(text, sizeof text);
    vt_text_add(&t, launched.launcher, " has started ");
    vt_text_dec(&t, launched.ranks);
    vt_text_add(&t, " processes");
    vt_define_property(l, "alone", text);
    if (!launched.rank)
        vt_say(1, "%s, but in %s each process is alone: MPI_COMM_WORLD has 1 rank; start the program with %s", text,
               mpi ? mpi : "its MPI",
               strcmp(launched.launcher, "srun") ? "the mpiexec of its MPI"
                                                 : "the PMI of its MPI: srun --mpi=pmi2 for MPICH, pmix for Open MPI");
    return launched.rank;
}

/* File names contain the ranks of the first world of the run, not of a world that a process of this run spawned. */
void vt_set_world(const struct vt_world *w)
{
    struct vt_location *l = vt_location_of_thread(0);
    if (!l || vt_process.named) return;
    uint32_t name_rank = rank_of_name(w, l);
    vt_filter_rank(w->rank);
    if (w->count && vt_process.first) vt_place_count(&vt_process.set, w->count);
    set_rank(w->rank, vt_process.first ? name_rank : VT_NO_RANK, w->world_size, w->world, w->run);
    vt_names_disclaim(claim);
    claim = -1;
}

/* Runs at the end of a process that belongs to no world. */
void vt_be_alone(void)
{
    if (vt_process.named || !vt_process.first) return;
    claim = vt_names_claim();
    if (vt_names_settle() == VT_NAMES_FREE) set_rank(0, 0, 1, 0, vt_process.head.run);
    vt_names_disclaim(claim);
}
