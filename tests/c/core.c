/* SPDX-License-Identifier: BSD-3-Clause */
/* core SCENARIO: calls functions inside the recording core for situations that no program can cause at will. Linked
   with csrc/core and csrc/funwrap; tests/unit/test_core.py reads the files of each scenario. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "../../csrc/core/location.h"
#include "../../csrc/funwrap/funwrap.h"

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

#define CHECK(x) ((x) ? (void)0 : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x), exit(1)))

static uint32_t region(const char *name)
{
    uint32_t id = vt_define_region(name, VT_PARADIGM_USER, VT_ROLE_FUNCTION, "here.c", 7);
    CHECK(id);
    return id;
}

/* A time difference that needs more than 32 bits, and a clock that steps back. */
static void gap(void)
{
    uint32_t r = region("gap");
    vt_enter(r);
    vt_own_location->last -= 5ull << 32;
    vt_leave(r);
    vt_enter(r);
    vt_own_location->last += 1ull << 40;
    vt_leave(r);
}

/* An address in no module. */
static void address(void)
{
    void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    __cyg_profile_func_enter(code, NULL);
    __cyg_profile_func_exit(code, NULL);
    printf("%llu\n", (unsigned long long)(uintptr_t)code);
}

static uint32_t in_handler;
static sigjmp_buf back;

static void on_signal(int number)
{
    if (number == SIGUSR1) vt_enter(in_handler);
    else siglongjmp(back, 1);
}

static void interrupted(int on_other_stack)
{
    static char stack[65536];
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction act = {.sa_handler = on_signal, .sa_flags = on_other_stack ? SA_ONSTACK : 0};
    if (on_other_stack) CHECK(!sigaltstack(&other, NULL));
    sigaction(SIGUSR1, &act, NULL);
    sigaction(SIGUSR2, &act, NULL);
    in_handler = region("handler");
    vt_enter(in_handler);
    for (int i = 0; i < 3; i++) { /* the handler's event comes while this thread is recording */
        vt_busy_begin(vt_own_location);
        raise(SIGUSR1);
        vt_busy_end(vt_own_location);
    }
    vt_leave(in_handler);
}

static __attribute__((noinline)) void leave_while_busy(void)
{
    char deep[4096];
    __asm__ volatile("" : : "r"(deep) : "memory"); /* keeps the compiler from shortening the frame */
    vt_busy_begin(vt_own_location);
    raise(SIGUSR2);
    __asm__ volatile("" : : "r"(deep) : "memory");
}

/* siglongjmp interrupts a recording for good. The next event finds the stale busy word and records. */
static void stale(void)
{
    interrupted(0);
    if (!sigsetjmp(back, 1)) leave_while_busy();
    CHECK(vt_own_location->busy);
    vt_enter(in_handler);
    CHECK(!vt_own_location->busy);
    vt_leave(in_handler);
}

/* Three chunks; the first ends with 40 open regions. */
static void chunks(void)
{
    uint32_t r[40], leaf = region("leaf");
    char name[16];
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "r%d", i);
        r[i] = region(name);
        vt_enter(r[i]);
    }
    for (int i = 0; i < 10000; i++) {
        vt_enter(leaf);
        vt_leave(leaf);
    }
    for (int i = 39; i >= 0; i--) vt_leave(r[i]);
}

/* Runs of calls of two to five records, one call with hundreds of records inside, in several chunks. The last call
   stays open. */
static void runs(void)
{
    const uint32_t r = region("call"), all = region("all"), open = region("open");
    for (int round = 0; round < 40; round++) {
        for (int kind = 0; kind < 4; kind++)
            for (int i = 0; i < 50; i++) {
                vt_enter(r);
                for (int inside = 0; inside < kind; inside++)
                    vt_write_2(VT_HEAD(VT_K_ISEND_COMPLETE, 1, 0), (uint64_t)i);
                vt_leave(r);
            }
        vt_enter(all);
        for (int i = 0; i < 100; i++) vt_write_2(VT_HEAD(VT_K_ISEND_COMPLETE, 1, 0), (uint64_t)i);
        for (int i = 0; i < 100; i++) vt_write_3(VT_HEAD(VT_K_RECV, 2, 1), 0, 8);
        vt_leave(all);
    }
    vt_enter(open);
}

static void abi(void)
{
    struct vt_shim s = {
        .size = sizeof s, .abi = VT_ABI + 1, .kind = VT_SHIM_MPI, .name = "Some MPI 9.0", .version = "9.9"};
    CHECK(!vt_attach(&s));
    CHECK(!vt_attach(&s));
    s.abi = 1;
    printf("%d\n", vt_attach(&s));
    /* what a shim of VT_ABI 1 does */
    static const uint8_t text[] = {0x93, VT_D_TEXT, 5, 0xa3, 'o', 'l', 'd'};
    CHECK((vt_define)(text, sizeof text) || !vt_setting("VT_MPITRACE"));
    CHECK(!vt_hides("MPI_Send", "MPI"));
}

static void ids(void)
{
    atomic_store(&vt_process.ids[VT_ID_REGION], VT_ID_MAX - 1);
    CHECK(vt_define_region("last", VT_PARADIGM_USER, VT_ROLE_FUNCTION, NULL, 0) == VT_ID_MAX);
    CHECK(!vt_define_region("none", VT_PARADIGM_USER, VT_ROLE_FUNCTION, NULL, 0));
    CHECK(!vt_define_region("none", VT_PARADIGM_USER, VT_ROLE_FUNCTION, NULL, 0));
    CHECK(vt_new_id(VT_ID_REQUEST) == 1);
}

static void world(const char *rank)
{
    struct vt_world w = {.size = sizeof w, .rank = (uint32_t)atol(rank), .world_size = 1000000, .world = 77};
    memset(w.run, 0xab, sizeof w.run);
    uint32_t r = region("before");
    vt_enter(r);
    vt_complete(); /* files of a process without a rank; the events of the next process follow */
    vt_set_world(&w);
    vt_leave(r);
}

static void *one_event(void *r)
{
    vt_enter((uint32_t)(uintptr_t)r);
    return NULL;
}

/* Threads one after the other; each leaves a region open. */
static void reuse(void)
{
    pthread_t t;
    uint32_t r = region("thread");
    for (int i = 0; i < 5; i++) {
        pthread_create(&t, NULL, one_event, (void *)(uintptr_t)r);
        pthread_join(t, NULL);
    }
}

static void errors(void)
{
    errno = 1234;
    uint32_t r = region("errno");
    vt_enter(r);
    for (int i = 0; i < 100000; i++) __cyg_profile_func_enter((void *)(uintptr_t)errors, NULL);
    vt_leave(r);
    vt_complete();
    CHECK(errno == 1234);
}

/* Pages of another size: prints the offsets of the 4-KiB pages that are writable after a part of the third large page
   and of the fourth became writable. */
static void pages(const char *size)
{
    uintptr_t page = (uintptr_t)atol(size), bytes = 8 * page;
    CHECK(vt_process.page_size == (uint32_t)sysconf(_SC_PAGESIZE));
    char *map = mmap(NULL, bytes + page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *first = (char *)(((uintptr_t)map + page - 1) & ~(page - 1));
    int fd = open("/dev/zero", O_RDONLY);
    vt_process.page_size = (uint32_t)page;
    CHECK(vt_patch_protect((uintptr_t)first + 3 * page - 8, 32, 1));
    for (uintptr_t at = 0; at < bytes; at += 4096)
        if (read(fd, first + at, 1) == 1) printf("%lu\n", (unsigned long)at); /* EFAULT: not writable */
    close(fd);
}

/* The step of a counter of some MHz that shows multiples of `multiple` ticks, read every 13 to 19 ns. */
static void steps(const char *mhz, const char *multiple)
{
    uint64_t at[VT_CLOCK_READINGS], m = (uint64_t)atol(multiple), ns = 1000000000;
    for (unsigned i = 0; i < VT_CLOCK_READINGS; i++) {
        ns += 13 + i * 5 % 7;
        at[i] = ns * (uint64_t)atol(mhz) / 1000 / m * m;
    }
    printf("%u\n", vt_clock_step_of(at));
}

/* ---- Waits for a processor ---- */

/* Starts a process that always wants this thread's processor. */
static void share_processor(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    CHECK(!sched_setaffinity(0, sizeof one, &one));
    if (fork()) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) __asm__ volatile("");
}

static uint64_t waited(void)
{
    char text[96] = "";
    const int fd = open("/proc/thread-self/schedstat", O_RDONLY);
    CHECK(read(fd, text, sizeof text - 1) > 0);
    close(fd);
    return strtoull(strchr(text, ' '), NULL, 10);
}

/* Works for 20 ms at least, until the other process has had the processor for 1 ms at least. */
static void lose_processor(void)
{
    const uint64_t before = waited(), begin = vt_clock_ns(CLOCK_MONOTONIC);
    while (waited() - before < 1000000 || vt_clock_ns(CLOCK_MONOTONIC) - begin < 20000000) continue;
}

/* Fills the buffer up to the last words, loses the processor, and leaves the region. Prints the number of events inside. */
static void wait_at_full_chunk(const char *words)
{
    const uint32_t r = region("full");
    share_processor();
    vt_enter(r);
    struct vt_location *l = vt_own_location;
    long events = 0;
    for (; l->chunks < l->quota || l->limit - l->cursor > atol(words); events++)
        vt_write_2(VT_HEAD(VT_K_ISEND_COMPLETE, 1, 0), 7);
    printf("%ld\n", events);
    lose_processor();
    vt_leave(r);
}

static __attribute__((noinline)) void poll_once(uint32_t r)
{
    uint64_t leave = VT_HEAD(VT_K_LEAVE, 0, r);
    vt_called_at = VT_CALLED_AT;
    vt_enter(r);
    lose_processor();
    vt_write_poll(0, &leave, 1);
}

static void wait_in_poll(void)
{
    const uint32_t r = region("poll");
    share_processor();
    vt_enter(r);
    vt_leave(r);
    poll_once(r);
}

static void *wait_after_event(void *unused)
{
    const uint32_t r = region("last");
    vt_enter(r);
    vt_leave(r);
    lose_processor();
    return unused;
}

/* A thread whose last event is before it loses the processor: main, or another. */
static void wait_last(const char *who)
{
    pthread_t t;
    share_processor();
    if (!strcmp(who, "main")) wait_after_event(NULL);
    else CHECK(!pthread_create(&t, NULL, wait_after_event, NULL) && !pthread_join(t, NULL));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "gap")) gap();
    else if (!strcmp(what, "address")) address();
    else if (!strcmp(what, "handler")) interrupted(0);
    else if (!strcmp(what, "handler-other-stack")) interrupted(1);
    else if (!strcmp(what, "stale")) stale();
    else if (!strcmp(what, "chunks")) chunks();
    else if (!strcmp(what, "runs")) runs();
    else if (!strcmp(what, "abi")) abi();
    else if (!strcmp(what, "ids")) ids();
    else if (!strcmp(what, "world")) world(argv[2]);
    else if (!strcmp(what, "reuse")) reuse();
    else if (!strcmp(what, "errno")) errors();
    else if (!strcmp(what, "pages")) pages(argv[2]);
    else if (!strcmp(what, "steps")) steps(argv[2], argv[3]);
    else if (!strcmp(what, "wait-full")) wait_at_full_chunk(argv[2]);
    else if (!strcmp(what, "wait-poll")) wait_in_poll();
    else if (!strcmp(what, "wait-last")) wait_last(argv[2]);
    else return 2;
    return 0;
}
