/* SPDX-License-Identifier: BSD-3-Clause */
/* unwind SCENARIO: calls the finder of unwind rules, the unwinder and the timers directly. Linked with csrc/core and csrc/sampling;
   tests/unit/test_unwind.py runs it under ASan and UBSan. */
#define _GNU_SOURCE
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include "../../csrc/sampling/sampling.h"

#define CHECK(x) ((x) ? (void)0 : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x), exit(1)))

/* ---- The sources of all modules ---- */

struct module_source {
    const char *name;
    struct vt_unwind_source source;
};

static struct module_source modules[64];
static unsigned count;

static int collect(struct dl_phdr_info *info, size_t size, void *unused)
{
    const ElfW(Phdr) *header = NULL, *code = NULL, *holder = NULL;
    (void)size, (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_GNU_EH_FRAME) header = p;
        if (p->p_type == PT_LOAD && p->p_flags & PF_X) code = p;
    }
    for (int i = 0; header && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && header->p_vaddr - p->p_vaddr < p->p_filesz) holder = p;
    }
    if (!header || !code || !holder || count == 64) return 0;
    const uint8_t *begin = (const uint8_t *)(info->dlpi_addr + holder->p_vaddr);
    modules[count].name = info->dlpi_name;
    modules[count++].source =
        (struct vt_unwind_source){begin, begin + holder->p_filesz, (const uint8_t *)(info->dlpi_addr + header->p_vaddr),
                                  info->dlpi_addr + code->p_vaddr, (uint32_t)code->p_memsz};
    return 0;
}

struct counts {
    unsigned rows, others, damaged;
};

/* Looks up every 61st instruction: a row begins at or before the instruction, and is valid at its first byte, too. */
static struct counts look_up_all(const struct vt_unwind_source *source)
{
    struct counts n = {0};
    struct vt_unwind_row row, first;
    for (uint64_t at = 0, last = UINT64_MAX; at < source->code_bytes; at += 61) {
        int good = vt_unwind_row_at(source, (uint32_t)at, &row);
        CHECK(row.pc <= at && row.rule <= VT_RULE_SIGNAL);
        n.damaged += !good;
        n.rows += row.pc != last;
        n.others += row.pc != last && row.rule == VT_RULE_OTHER;
        last = row.pc;
        if (row.rule <= VT_RULE_OTHER) continue;
        CHECK(vt_unwind_row_at(source, row.pc, &first));
        CHECK(first.rule == row.rule && first.cfa == row.cfa && first.bp == row.bp);
    }
    return n;
}

/* Prints for each module the numbers of rows, of rows that cannot be expressed, and of look-ups in damaged entries. */
static void tables(void)
{
    for (unsigned i = 0; i < count; i++) {
        struct counts n = look_up_all(&modules[i].source);
        printf("%s %u %u %u\n", *modules[i].name ? modules[i].name : "program", n.rows, n.others, n.damaged);
    }
}

/* ---- Damage ---- */

static uint64_t state = 88172645463325252u;

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* memcpy of bytes that lie between variables, too. */
static __attribute__((no_sanitize_address)) void copy_bytes(uint8_t *into, const uint8_t *from, size_t bytes)
{
    for (volatile size_t i = 0; i < bytes; i++) into[i] = from[i];
}

/* Looks up rules in a copy of the bytes of a module, in memory of exactly their size, after some bytes have changed.
   Places in .eh_frame_hdr and .eh_frame are relative, so the code of the copy lies at the same distance. */
static void damage(const struct vt_unwind_source *from, unsigned changes)
{
    size_t bytes = (size_t)(from->end - from->begin), header = (size_t)(from->header - from->begin);
    uint8_t *copy = malloc(bytes);
    CHECK(copy);
    copy_bytes(copy, from->begin, bytes);
    for (unsigned i = 0; i < changes; i++) {
        /* the first entries of the header and of .eh_frame lead to most of the others */
        size_t near = draw() % 4 ? header + draw() % 4096 : draw() % bytes;
        copy[near % bytes] = (uint8_t)draw();
    }
    size_t cut = draw() % 4 ? bytes : header + draw() % (bytes - header);
    uint8_t *exact = realloc(copy, cut);
    CHECK(exact);
    struct vt_unwind_source source = *from;
    source.begin = exact;
    source.end = exact + cut;
    source.header = exact + header;
    source.code = from->code + ((uintptr_t)exact - (uintptr_t)from->begin);
    struct vt_unwind_row row;
    for (unsigned i = 0; i < 3000; i++) {
        uint32_t at = (uint32_t)(draw() % source.code_bytes);
        vt_unwind_row_at(&source, at, &row);
        CHECK(row.pc <= at && row.rule <= VT_RULE_SIGNAL);
    }
    free(exact);
}

static void damaged(uint64_t seed, unsigned rounds)
{
    state ^= seed * 0x9e3779b97f4a7c15u;
    for (unsigned i = 0; i < rounds; i++) damage(&modules[draw() % count].source, 1 + (unsigned)(draw() % 200));
}

/* ---- Stacks against glibc's backtrace ---- */

static struct vt_unwinder unwinder;
static struct vt_code_map *map;
static unsigned compared;

static void make_map(void)
{
    map = calloc(1, sizeof *map + count * sizeof *map->ranges);
    CHECK(map);
    map->generation = 1;
    for (unsigned i = 0; i < count; i++) {
        const struct vt_unwind_source *s = &modules[i].source;
        struct vt_code_range range = {.begin = s->code, .bytes = s->code_bytes, .slot = VT_CODE_UNKNOWN, .source = *s};
        unsigned at = map->count++;
        for (; at && map->ranges[at - 1].begin > range.begin; at--) map->ranges[at] = map->ranges[at - 1];
        map->ranges[at] = range;
    }
    vt_unwind_begin(&unwinder, 1, 0);
}

/* Compares the frames outside of this handler. The first of backtrace's are those of the handler and of the return from
   the signal. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    void *theirs[VT_SAMPLE_FRAMES + 8];
    uint64_t ours[VT_SAMPLE_FRAMES];
    enum vt_sample_end end;
    const greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    struct vt_registers at = {(uintptr_t)r[REG_RIP], (uintptr_t)r[REG_RSP], (uintptr_t)r[REG_RBP]};
    int n = backtrace(theirs, VT_SAMPLE_FRAMES + 8), first = 0;
    uint32_t found = vt_unwind(&unwinder, map, at, ours, &end);
    (void)number, (void)info;
    while (first < n && (uintptr_t)theirs[first] != at.pc) first++;
    CHECK(first < n && (int)found <= n - first);
    CHECK(end == VT_SAMPLE_COMPLETE && (int)found == n - first);
    for (uint32_t i = 0; i < found; i++) {
        uintptr_t place = ours[i] & ~(VT_OPEN_ADDRESS | VT_FRAME_OWN), other = (uintptr_t)theirs[first + (int)i];
        CHECK(place == other || place + 1 == other); /* backtrace has return addresses */
    }
    compared++;
}

static __attribute__((noinline)) int recurse(int depth)
{
    volatile char room[64 + depth];
    room[0] = 1;
    if (!depth) raise(SIGUSR1);
    else recurse(depth - 1);
    return room[0];
}

/* Frames of fixed sizes that 16 bits do not hold. */
static __attribute__((noinline)) int large(void)
{
    volatile char room[3 << 20];
    room[0] = (char)recurse(2);
    return room[0];
}

static __attribute__((noinline)) int larger(void)
{
    volatile char room[4 << 20];
    room[0] = (char)large();
    return room[0];
}

static int compare(const void *a, const void *b)
{
    recurse(3);
    return *(const int *)a - *(const int *)b;
}

static void nested(int number)
{
    (void)number;
    recurse(5);
}

static void stacks(void)
{
    static char memory[65536];
    int numbers[] = {3, 1, 2};
    stack_t other = {.ss_sp = memory, .ss_size = sizeof memory};
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    struct sigaction outer = {.sa_handler = nested, .sa_flags = SA_ONSTACK};
    void *warm[4];
    backtrace(warm, 4); /* loads its library */
    count = 0;
    dl_iterate_phdr(collect, NULL);
    make_map();
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &outer, NULL);
    sigaltstack(&other, NULL);
    for (int depth = 0; depth < 400; depth += 7) recurse(depth);
    larger();
    qsort(numbers, 3, sizeof *numbers, compare);
    raise(SIGUSR2);
    printf("%u\n", compared);
}

/* ---- Registers that lead nowhere ---- */

static void nowhere(void)
{
    static char memory[64];
    uint64_t frames[VT_SAMPLE_FRAMES];
    enum vt_sample_end end;
    const uintptr_t places[] = {(uintptr_t)recurse, (uintptr_t)raise, 0, 1, UINTPTR_MAX, (uintptr_t)memory};
    make_map();
    for (unsigned i = 0; i < 200000; i++) {
        uintptr_t near = (uintptr_t)&end + draw() % 65536 - 32768, any = draw();
        uintptr_t code = map->ranges[draw() % map->count].begin;
        struct vt_registers at = {draw() % 2 ? places[draw() % 6] : code + draw() % 100000,
                                  draw() % 4   ? near & ~(uintptr_t)7
                                  : draw() % 2 ? near
                                               : any,
                                  draw() % 4   ? near
                                  : draw() % 2 ? places[draw() % 6]
                                               : any};
        uint32_t n = vt_unwind(&unwinder, map, at, frames, &end);
        CHECK(n >= 1 && n <= VT_SAMPLE_FRAMES && end < VT_SAMPLE_END_MOST);
    }
}

/* ---- Plans of timers ---- */

static uint64_t ns_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The first expiration is at a random point of a period and stands for a period. The distances of the others have the
   mean of the period; on the CPU clock they differ by whole ticks. */
static void plans(enum vt_sample_clock clock)
{
    const struct vt_sample_rate rate = {.clock = clock, .period = 1000000000, .tick = 4000000, .signal = SIGRTMIN};
    const clockid_t id = clock == VT_SAMPLE_CLOCK_CPU ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
    double first = 0, distance = 0;
    enum { TIMERS = 400, NEXT = 20 };
    signal(SIGRTMIN, SIG_IGN);
    for (int i = 0; i < TIMERS; i++) {
        struct vt_sample_timer t = {0};
        int64_t before = (int64_t)ns_of(id), period = (int64_t)rate.period;
        CHECK(!vt_sample_timer_start(&t, &rate) && t.made && t.distance == rate.period);
        CHECK(t.due + (int64_t)rate.tick / 2 >= before && t.due < (int64_t)ns_of(id) + period);
        first += (double)t.due - (double)before;
        for (int n = 0; n < NEXT; n++) {
            int64_t due = t.due;
            uint64_t planned = t.distance;
            /* the overruns of the first one are counted from its plan: here there are none */
            CHECK(vt_sample_timer_next(&t, &rate, (uint32_t)n) == planned + (uint64_t)n * rate.period);
            CHECK(t.due == due + n * period + (int64_t)t.distance);
            CHECK(t.distance >= rate.period / 2 && t.distance <= rate.period + rate.period / 2);
            CHECK(clock == VT_SAMPLE_CLOCK_WALL || !((int64_t)(t.distance - rate.period) % (int64_t)rate.tick));
            distance += (double)t.distance;
        }
        vt_sample_timer_stop(&t, &rate);
        CHECK(!t.made);
    }
    /* 5 standard errors of uniform distributions */
    double mean = first / TIMERS, late = clock == VT_SAMPLE_CLOCK_CPU ? (double)rate.tick / 2 : 0;
    CHECK(mean + late > 0.5e9 - 75e6 && mean + late < 0.5e9 + 75e6);
    mean = distance / TIMERS / NEXT;
    CHECK(mean > 1e9 - 17e6 && mean < 1e9 + 17e6);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    dl_iterate_phdr(collect, NULL);
    if (!strcmp(what, "tables")) tables();
    else if (!strcmp(what, "damaged")) damaged(strtoull(argv[2], NULL, 10), (unsigned)atoi(argv[3]));
    else if (!strcmp(what, "stacks")) stacks();
    else if (!strcmp(what, "nowhere")) nowhere();
    else if (!strcmp(what, "plans")) plans(VT_SAMPLE_CLOCK_CPU), plans(VT_SAMPLE_CLOCK_WALL);
    else return 2;
    return 0;
}
