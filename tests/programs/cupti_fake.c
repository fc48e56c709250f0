/* SPDX-License-Identifier: BSD-3-Clause */
/* A CUPTI without a device: it speaks the binary interface of CUPTI 11.8, 12.9 or 13.5 (FAKE_VERSION 18, 28, 130500), whose
   records have other sizes, calls the subscriber at calls that the program plays, and gives records back as CUPTI does: in
   the order of their ends, from a thread of its own for full buffers, or in a flush. Times are of CLOCK_REALTIME. */
#include "cupti_fake.h"
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if FAKE_VERSION < 20
enum { KERNEL = 200, COPY = 88, PEER = 96, SET = 88, DEVICE = 176, UNIFIED = 64 };
#elif FAKE_VERSION < 100000
enum { KERNEL = 208, COPY = 96, PEER = 96, SET = 88, DEVICE = 184, UNIFIED = 104 };
#else
enum { KERNEL = 248, COPY = 112, PEER = 96, SET = 104, DEVICE = 192, UNIFIED = 104 };
#endif
enum { LOST_RECORD = 4096, PENDING = 1 << 18, STREAMS = 512, DEVICES = 4 };

struct call_data {
    uint32_t site;
    const char *name;
    const void *parameters;
    void *result;
    const char *symbol;
    void *context;
    uint32_t context_number;
    uint64_t *data;
    uint32_t correlation;
};
static const char *const names[2][6] = {
    {"INVALID", "cuInit", "cuLaunchKernel", "cuMemcpyHtoD_v2", "cuCtxGetCurrent", "cuCtxSynchronize"},
    {"INVALID"},
};
static const char *const runtime_names[] = {"INVALID",
                                            "cudaLaunchKernel_v7000",
                                            "cudaMemcpy_v3020",
                                            "cudaMemcpyAsync_v3020",
                                            "cudaMemset_v3020",
                                            "cudaDeviceSynchronize_v3020",
                                            "cudaGetLastError_v3020",
                                            "cudaGraphLaunch_v10000",
                                            "cudaMalloc_v3020",
                                            "cudaMemcpyPeer_v4000",
                                            "cudaLaunchKernel_ptsz_v7000",
                                            "cudaDeviceReset_v3020",
                                            "cudaGetDeviceCount_v3020",
                                            "cudaMallocManaged_v6000"};
enum { RUNTIME_NAMES = sizeof runtime_names / sizeof *runtime_names };

static void (*subscriber)(void *, uint32_t, uint32_t, const struct call_data *);
static uint8_t enabled[3][64];
static void (*request)(uint8_t **, size_t *, size_t *), (*complete)(void *, uint32_t, uint8_t *, size_t, size_t);
static uint64_t kinds, configured; /* configured: counters of unified memory */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, delivery = PTHREAD_MUTEX_INITIALIZER;

static struct pending {
    struct fake_activity a;
    uint64_t start, end; /* end 0: never */
    uint32_t correlation;
} pending[PENDING];
static unsigned waiting;
static uint64_t free_at[DEVICES][STREAMS];
static size_t dropped;
static unsigned hold, period;
static _Atomic unsigned given; /* buffers back to the tool */
static struct {
    uint8_t *bytes;
    size_t size, used;
    unsigned records;
} current, held[64];
static unsigned holds;
static int devices_told;

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- Records ---- */

static void set4(uint8_t *r, unsigned at, uint32_t value) { memcpy(r + at, &value, 4); }
static void set8(uint8_t *r, unsigned at, uint64_t value) { memcpy(r + at, &value, 8); }

static size_t size_of(uint32_t kind)
{
    switch (kind) {
    case 1: return COPY;
    case 2: return SET;
    case 8: return DEVICE;
    case 10: return KERNEL;
    case 22: return PEER;
    case 25: return UNIFIED;
    default: return LOST_RECORD;
    }
}

static void give_back(void)
{
    given++;
    if (hold && holds < 64) held[holds++] = (__typeof__(*held)){current.bytes, current.size, current.used, 0};
    else complete(NULL, 0, current.bytes, current.size, current.used);
    current.bytes = NULL;
}

/* Returns a place for a record, without content; NULL: it is dropped. */
static uint8_t *place(uint32_t kind)
{
    const size_t size = size_of(kind);
    if (current.bytes && (current.used + size > current.size || (hold && current.records == hold))) give_back();
    if (!current.bytes) {
        size_t most = 0;
        request(&current.bytes, &current.size, &most);
        current.used = current.records = 0;
        if (!current.bytes) dropped++;
    }
    if (!current.bytes) return NULL;
    uint8_t *r = current.bytes + current.used;
    memset(r, 0xa5, size); /* no member but those below may be read */
    set4(r, 0, kind);
    current.used += size;
    current.records++;
    return r;
}

static void put_device(uint32_t device)
{
    uint8_t *r = place(8);
    if (!r) return;
    set4(r, 112, device);
    const char *name = "Imaginary 100";
    memcpy(r + 136, &name, sizeof name);
}

/* Members that CUPTI tells to ignore have no meaning: the end of a fault of the processor, and its devices. */
static void put_unified(const struct pending *p)
{
    uint8_t *r = kinds >> 25 & 1 && configured >> p->a.copy & 1 ? place(25) : NULL;
    if (!r) return;
    set4(r, 4, p->a.copy);
    set8(r, 8, p->a.bytes);
    set8(r, 16, p->start);
    if (p->a.copy == 3) return;
    set8(r, 24, p->end);
    if (p->a.copy != 1) set4(r, 40, p->a.device);
    if (p->a.copy != 4) set4(r, 44, p->a.device + (p->a.copy == 8));
}

static void put(const struct pending *p)
{
    static const uint32_t kind[] = {[FAKE_KERNEL] = 10, [FAKE_COPY] = 1, [FAKE_PEER_COPY] = 22, [FAKE_SET] = 2};
    if (p->a.what == FAKE_UNIFIED) {
        put_unified(p);
        return;
    }
    uint8_t *r = kinds >> kind[p->a.what] & 1 ? place(kind[p->a.what]) : NULL;
    if (!r) return;
    const int is_kernel = p->a.what == FAKE_KERNEL;
    set8(r, 16, p->end ? p->start : 0);
    set8(r, 24, p->end);
    const unsigned at = is_kernel ? 40 : 32;
    set4(r, at, p->a.device);
    set4(r, at + 4, 1);
    set4(r, at + 8, p->a.stream);
    if (is_kernel) {
        set4(r, 92, p->correlation);
        memcpy(r + 104, &p->a.name, sizeof p->a.name);
        return;
    }
    r[4] = (uint8_t)p->a.copy;
    set8(r, 8, p->a.bytes);
    set4(r, p->a.what == FAKE_PEER_COPY ? 60 : 44, p->correlation);
}

/* ---- Giving them back ---- */

static int by_end(const void *one, const void *other)
{
    const uint64_t a = ((const struct pending *)one)->end, b = ((const struct pending *)other)->end;
    return (a > b) - (a < b);
}

/* Writes the ended activities; all: the others, too, without times. */
static void deliver(int all, int only_full)
{
    static struct pending ended[PENDING];
    pthread_mutex_lock(&delivery);
    pthread_mutex_lock(&lock);
    unsigned n = 0, left = 0;
    const uint64_t time = now();
    for (unsigned i = 0; i < waiting; i++) {
        if (all || (pending[i].end && pending[i].end <= time)) ended[n++] = pending[i];
        else pending[left++] = pending[i];
    }
    waiting = left;
    pthread_mutex_unlock(&lock);
    qsort(ended, n, sizeof *ended, by_end);
    for (uint32_t device = 0; !devices_told && device < DEVICES; device++) put_device(device);
    devices_told = 1;
    for (unsigned i = 0; i < n; i++) put(&ended[i]);
    if (!only_full && current.bytes) give_back();
    for (unsigned i = 0; all && i < holds; i++) complete(NULL, 0, held[i].bytes, held[i].size, held[i].used);
    if (all) holds = 0;
    pthread_mutex_unlock(&delivery);
}

static _Atomic unsigned by_thread; /* buffers that the thread has given back */

static void *work(void *unused)
{
    for (;;) {
        const struct timespec t = {period / 1000, period % 1000 * 1000000L};
        nanosleep(&t, NULL);
        const unsigned before = given;
        if (!hold) deliver(0, 1);
        by_thread += given - before;
    }
    return unused;
}

void fake_wait_for_thread(void)
{
    while (!by_thread) sched_yield();
}

/* ---- CUPTI ---- */

int cuptiGetVersion(uint32_t *version)
{
    *version = FAKE_VERSION;
    return 0;
}

int cuptiGetTimestamp(uint64_t *time)
{
    if (getenv("FAKE_NO_TIME")) return 999;
    *time = now();
    return 0;
}

int cuptiGetResultString(int result, const char **text)
{
    *text = result ? "CUPTI_ERROR_FAKE" : "CUPTI_SUCCESS";
    return 0;
}

int cuptiSubscribe(void **handle, void *callback, void *data)
{
    (void)data;
    if (getenv("FAKE_ERROR")) return atoi(getenv("FAKE_ERROR"));
    if (subscriber) return 39;
    subscriber = (void (*)(void *, uint32_t, uint32_t, const struct call_data *))callback;
    *handle = &subscriber;
    return 0;
}

int cuptiUnsubscribe(void *handle)
{
    (void)handle;
    subscriber = NULL;
    return 0;
}

int cuptiGetCallbackName(uint32_t domain, uint32_t number, const char **name)
{
    if (domain == 1 && number < sizeof *names / sizeof **names) *name = names[0][number];
    else if (domain == 2 && number < RUNTIME_NAMES) *name = runtime_names[number];
    else return 1;
    return 0;
}

int cuptiEnableCallback(uint32_t enable, void *handle, uint32_t domain, uint32_t number)
{
    (void)handle;
    enabled[domain][number] = (uint8_t)enable;
    return 0;
}

int cuptiActivityRegisterCallbacks(void *requested, void *completed)
{
    request = (void (*)(uint8_t **, size_t *, size_t *))requested;
    complete = (void (*)(void *, uint32_t, uint8_t *, size_t, size_t))completed;
    return 0;
}

int cuptiActivityConfigureUnifiedMemoryCounter(const uint32_t *settings, uint32_t n)
{
    for (const uint32_t *s = settings; s < settings + 4 * n; s += 4)
        if (s[0] == 2 && s[3]) configured |= 1ull << s[1];
    return getenv("FAKE_NO_UNIFIED") ? 27 : 0;
}

int cuptiActivityEnable(uint32_t kind)
{
    if (getenv("FAKE_NO_KIND") && kind == (uint32_t)atoi(getenv("FAKE_NO_KIND"))) return 35;
    kinds |= 1ull << kind;
    return 0;
}

int cuptiActivityFlushAll(uint32_t flags)
{
    deliver((int)flags, 0);
    return 0;
}

int cuptiActivityFlushPeriod(uint32_t milliseconds)
{
    pthread_t worker;
    period = milliseconds;
    return pthread_create(&worker, NULL, work, NULL);
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record)
{
    uint8_t *r = *record;
    uint32_t kind = 0;
    if (r) memcpy(&kind, r, sizeof kind);
    uint8_t *next = r ? r + size_of(kind) : buffer;
    if (next >= buffer + valid) return 12;
    *record = next;
    return 0;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n)
{
    (void)context, (void)stream;
    *n = dropped;
    dropped = 0;
    return 0;
}

/* ---- The program's calls ---- */

static uint32_t number_of(const char *name, int is_driver)
{
    const size_t length = strlen(name);
    const unsigned n = is_driver ? sizeof *names / sizeof **names : RUNTIME_NAMES;
    for (uint32_t i = 1; i < n; i++)
        if (!strncmp(is_driver ? names[0][i] : runtime_names[i], name, length)) return i;
    abort();
}

static void tell(uint32_t site, const char *name, int is_driver, uint64_t *data, uint32_t correlation)
{
    const uint32_t domain = is_driver ? 1 : 2, number = number_of(name, is_driver);
    const struct call_data call = {.site = site, .name = name, .data = data, .correlation = correlation};
    if (subscriber && enabled[domain][number]) subscriber(NULL, domain, number, &call);
}

static void begin_activity(const struct fake_activity *a, uint32_t correlation)
{
    uint64_t *is_free = &free_at[a->device][a->stream], start = now() + 1000;
    if (!a->overlaps && start < *is_free) start = *is_free;
    struct pending p = {*a, start, a->length < 0 ? 0 : start + (uint64_t)a->length, correlation};
    pthread_mutex_lock(&lock);
    if (p.end > *is_free) *is_free = p.end;
    if (waiting < PENDING) pending[waiting++] = p;
    pthread_mutex_unlock(&lock);
}

static void wait_for_all(void)
{
    uint64_t last = 0;
    for (unsigned i = 0; i < DEVICES * STREAMS; i++)
        if (free_at[i / STREAMS][i % STREAMS] > last) last = free_at[i / STREAMS][i % STREAMS];
    for (uint64_t time; (time = now()) <= last;) {
        const struct timespec t = {0, (long)(last - time < 900000000u ? last - time : 900000000u)};
        nanosleep(&t, NULL);
    }
}

void fake_call(const struct fake_call *call)
{
    static _Atomic uint32_t correlations;
    const uint32_t correlation = ++correlations;
    uint64_t data = 0xfedcba9876543210u, nested = data;
    tell(0, call->name, call->is_driver, &data, correlation);
    if (call->nested) tell(0, call->nested, 1, &nested, correlation);
    for (int i = 0; i < call->n; i++) begin_activity(&call->activities[i], correlation);
    if (call->waits) wait_for_all();
    if (call->nested) tell(1, call->nested, 1, &nested, correlation);
    tell(1, call->name, call->is_driver, &data, correlation);
}

static void take_request(uint8_t **bytes, size_t *size, size_t *most)
{
    *bytes = malloc(*size = 1 << 16);
    *most = 0;
}

static void take_complete(void *context, uint32_t stream, uint8_t *bytes, size_t size, size_t valid)
{
    (void)context, (void)stream, (void)bytes, (void)size, (void)valid; /* the tool does not know the buffer: it stays */
}

void fake_take_over(void)
{
    deliver(0, 1);
    cuptiActivityRegisterCallbacks((void *)take_request, (void *)take_complete);
}

void fake_hold(unsigned records) { hold = records; }

void fake_cut_record(void)
{
    deliver(0, 0);
    pthread_mutex_lock(&delivery);
    size_t most = 0;
    request(&current.bytes, &current.size, &most);
    current.used = current.records = 0;
    place(10);
    uint8_t *copy = malloc(17); /* where the address sanitizer sees a read behind the end */
    memcpy(copy, current.bytes, 17);
    complete(NULL, 0, copy, 17, 17);
    free(copy);
    current.used = 0;
    give_back();
    pthread_mutex_unlock(&delivery);
}
