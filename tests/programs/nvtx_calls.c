/* SPDX-License-Identifier: BSD-3-Clause */
/* nvtx_calls WHAT: calls of NVTX whose records are known in closed form.
   every       each call once or twice, in two domains
   threads     4 threads push 100 regions each; the main thread starts 8 ranges, which the threads end
   interleaved regions of two domains that do not nest; pops without a push; a push that stays open
   storm       8 threads start 2000 ranges each and end those of each other; a signal handler pushes and pops
   many        1100 ranges are open at one time
   fork        a child and its parent push and start ranges; the child ends a range of its parent
   colours     a registered and a plain name with a colour and a category, a range with a category without a name
   payloads    payloads and groups of counters with layouts
   exec        as every, in a program that this one becomes
   kill        as every, then SIGKILL */
#define _GNU_SOURCE
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtPayload.h>
#include "program.h"

#define THREADS 4
#define REGIONS 100

static nvtxDomainHandle_t solver, io;
static nvtxRangeId_t started[2 * THREADS];

static nvtxEventAttributes_t event(nvtxStringHandle_t name)
{
    nvtxEventAttributes_t e = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    e.message.registered = name;
    return e;
}

static void every(void)
{
    nvtxEventAttributes_t step = event(nvtxDomainRegisterStringA(solver, "step"));
    nvtxRangePushA("outer");
    nvtxRangePushW(L"gr\u00f6\u00dfer");
    for (int i = 0; i < 2; i++) {
        nvtxDomainRangePushEx(solver, &step);
        nvtxDomainRangePop(solver);
    }
    nvtxEventAttributes_t loss = event(nvtxDomainRegisterStringW(io, L"loss"));
    loss.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    loss.payload.dValue = 2.5;
    loss.category = 3;
    loss.colorType = NVTX_COLOR_ARGB;
    loss.color = 0xff00ff00;
    nvtxDomainMarkEx(io, &loss);
    nvtxMarkA("plain");
    nvtxRangeId_t first = nvtxRangeStartA("first"), second = nvtxDomainRangeStartEx(solver, &step);
    nvtxRangeEnd(first); /* the ranges overlap */
    nvtxDomainRangeEnd(solver, second);
    nvtxRangeEnd(nvtxRangeStartW(L"third"));
    nvtxCounterAttr_t attributes = {.structSize = sizeof attributes, .schemaId = NVTX_PAYLOAD_ENTRY_TYPE_INT64};
    attributes.name = "queue";
    uint64_t queue = nvtxCounterRegister(io, &attributes);
    nvtxCounterSampleInt64(io, queue, -5);
    attributes.schemaId = NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE;
    attributes.name = "rate";
    attributes.counterId = NVTX_COUNTER_ID_STATIC_START;
    nvtxCounterRegister(io, &attributes);
    nvtxCounterSampleFloat64(io, NVTX_COUNTER_ID_STATIC_START, 0.25);
    int answer = 42;
    nvtxPayloadData_t data = {NVTX_PAYLOAD_ENTRY_TYPE_INT32, sizeof answer, &answer};
    nvtxRangePushPayload(io, &data, 1);
    nvtxRangePopPayload(io, &data, 1);
    nvtxRangePop();
    nvtxRangePop();
}

static void *thread(void *number)
{
    const int n = (int)(intptr_t)number;
    char name[20];
    snprintf(name, sizeof name, "worker of part %d", n);
    nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), name);
    nvtxEventAttributes_t part = event(nvtxDomainRegisterStringA(solver, "part"));
    for (int i = 0; i < REGIONS; i++) {
        nvtxDomainRangePushEx(solver, &part);
        nvtxDomainRangePop(solver);
    }
    nvtxDomainRangeEnd(solver, started[2 * n]);
    nvtxDomainRangeEnd(solver, started[2 * n + 1]);
    return NULL;
}

static void threads(void)
{
    pthread_t t[THREADS];
    nvtxEventAttributes_t whole = event(nvtxDomainRegisterStringA(solver, "whole"));
    for (int i = 0; i < 2 * THREADS; i++) started[i] = nvtxDomainRangeStartEx(solver, &whole);
    for (intptr_t i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, thread, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
}

#define STORM 8
static _Atomic nvtxRangeId_t shared[STORM];
static _Atomic int handled;

static void on_signal(int number)
{
    (void)number;
    nvtxRangePushA("handler");
    nvtxRangePop();
    handled++;
}

static void *storm_thread(void *unused)
{
    (void)unused;
    nvtxEventAttributes_t range = event(nvtxDomainRegisterStringA(solver, "range"));
    for (int i = 0; i < 2000; i++) {
        nvtxDomainRangeEnd(solver, atomic_exchange(&shared[i % STORM], nvtxDomainRangeStartEx(solver, &range)));
        if (i % 100 == 0) pthread_kill(pthread_self(), SIGUSR2);
    }
    return NULL;
}

static void storm(void)
{
    pthread_t t[STORM];
    signal(SIGUSR2, on_signal);
    for (int i = 0; i < STORM; i++) pthread_create(&t[i], NULL, storm_thread, NULL);
    for (int i = 0; i < STORM; i++) pthread_join(t[i], NULL);
    for (int i = 0; i < STORM; i++) nvtxDomainRangeEnd(solver, shared[i]);
    printf("%d\n", handled);
}

static void many(void)
{
    static nvtxRangeId_t open[1100];
    for (int i = 0; i < 1100; i++) open[i] = nvtxRangeStartA("many");
    for (int i = 0; i < 1100; i++) nvtxRangeEnd(open[i]);
    nvtxRangeEnd(nvtxRangeStartA("after"));
}

static void interleaved(void)
{
    nvtxEventAttributes_t a = event(nvtxDomainRegisterStringA(solver, "a"));
    nvtxEventAttributes_t b = event(nvtxDomainRegisterStringA(io, "b"));
    nvtxRangePop();
    nvtxDomainRangePop(solver);
    nvtxDomainRangePushEx(solver, &a);
    nvtxDomainRangePushEx(io, &b);
    nvtxDomainRangePop(solver);
    nvtxDomainRangePop(io);
    nvtxDomainRangePop(io);
    nvtxRangePushA("open");
    nvtxRangeStartA("open range");
}

static void colours(void)
{
    nvtxDomainNameCategoryA(solver, 3, "input");
    nvtxNameCategoryW(4, L"gr\u00f6\u00dfe");
    nvtxEventAttributes_t red = event(nvtxDomainRegisterStringA(solver, "red")), range = red;
    red.colorType = NVTX_COLOR_ARGB;
    red.color = 0xffee1100;
    red.category = 3;
    for (int i = 0; i < 3; i++) {
        if (i == 2) red.color = 0x000000ff; /* an event of its own colour */
        nvtxDomainRangePushEx(solver, &red);
        nvtxDomainRangePop(solver);
    }
    range.message.registered = nvtxDomainRegisterStringA(solver, "range");
    range.category = 9;
    nvtxDomainRangeEnd(solver, nvtxDomainRangeStartEx(solver, &range));
    nvtxEventAttributes_t green = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    green.messageType = NVTX_MESSAGE_TYPE_ASCII;
    green.message.ascii = "green";
    green.colorType = NVTX_COLOR_ARGB;
    green.color = 0xff00ff00;
    green.category = 4;
    nvtxRangePushEx(&green);
    nvtxRangePushA("plain");
    nvtxRangePop();
    nvtxRangePop();
}

struct iteration {
    int16_t step;
    double loss;
    const char *message;
    uint32_t colour, category;
    int32_t values[2];
    int32_t behind;
};
struct pool {
    uint64_t used;
    int32_t depth;
};

static void payloads(void)
{
    nvtxDomainNameCategoryA(solver, 3, "input");
    const nvtxPayloadSchemaEntry_t fields[] = {
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT16, "step", NULL, 0, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, "loss", NULL, 0, 0, NULL, NULL}, /* by its alignment */
        {NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "message", NULL, 0, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_COLOR_ARGB, "colour", NULL, 0, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY, "category", NULL, 0, 0, NULL, NULL},
        {NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "values", NULL, 2, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "behind", NULL, 0, 0, NULL, NULL},
    };
    nvtxPayloadSchemaAttr_t schema = {.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
                                      .name = "iteration",
                                      .entries = fields,
                                      .numEntries = 7,
                                      .payloadStaticSize = sizeof(struct iteration)};
    schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES;
    struct iteration one = {-7, 0.5, "iterate", 0xff102030, 3, {1, 2}, 3};
    const uint64_t layout = nvtxPayloadSchemaRegister(solver, &schema);
    nvtxPayloadData_t data[] = {{NVTX_PAYLOAD_ENTRY_TYPE_UINT8, 1, "\t"}, {layout, sizeof one, &one}};
    nvtxRangePushPayload(solver, &data[1], 1);
    nvtxRangePopPayload(solver, NULL, 0);
    nvtxEventAttributes_t plain = event(nvtxDomainRegisterStringA(solver, "plain"));
    one.step = -8;
    one.loss = 0.25;
    plain.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    plain.payload.ullValue = (uint64_t)(uintptr_t)data;
    plain.reserved0 = 2;
    nvtxDomainRangePushEx(solver, &plain);
    nvtxDomainRangePop(solver);
    data[1].size = 1; /* too short for a field */
    nvtxRangePopPayload(solver, &data[1], 1);
    const nvtxPayloadSchemaEntry_t numbers[] = {
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "used", NULL, 0, offsetof(struct pool, used), NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "depth", NULL, 0, offsetof(struct pool, depth), NULL, NULL},
    };
    schema.name = "numbers";
    schema.entries = numbers;
    schema.numEntries = 2;
    nvtxCounterAttr_t attributes = {.structSize = sizeof attributes, .name = "pool"};
    attributes.schemaId = nvtxPayloadSchemaRegister(io, &schema);
    const uint64_t group = nvtxCounterRegister(io, &attributes);
    attributes.counterId = NVTX_COUNTER_ID_STATIC_START + 5;
    nvtxCounterRegister(io, &attributes);
    struct pool pool = {4096, -2};
    nvtxCounterSample(io, group, &pool, sizeof pool);
    attributes = (nvtxCounterAttr_t){.structSize = sizeof attributes, .name = "alone"};
    attributes.schemaId = NVTX_PAYLOAD_ENTRY_TYPE_INT;
    const uint64_t alone = nvtxCounterRegister(io, &attributes);
    const int three = -3;
    nvtxCounterSample(io, alone, &three, sizeof three);
    nvtxCounterSampleNoValue(io, alone, NVTX_COUNTER_SAMPLE_ZERO);
    nvtxCounterSampleNoValue(io, alone, NVTX_COUNTER_SAMPLE_UNAVAILABLE);
    pool = (struct pool){8192, -4};
    nvtxCounterSample(io, NVTX_COUNTER_ID_STATIC_START + 5, &pool, sizeof pool);
}

static void forks(void)
{
    nvtxRangePushA("both");
    nvtxRangeId_t parents = nvtxRangeStartA("parent's");
    pid_t child = fork();
    nvtxRangePushA(child ? "in parent" : "in child");
    nvtxRangePop();
    nvtxRangeEnd(parents);
    nvtxRangeEnd(nvtxRangeStartA(child ? "parent's next" : "child's"));
    nvtxRangePop(); /* the child has not pushed it */
    if (!child) exit(0);
    waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "every";
    if (!strcmp(what, "exec")) {
        nvtxRangePushA("before");
        nvtxRangePop();
        nvtxRangeEnd(nvtxRangeStartA("range before"));
        execl("/proc/self/exe", argv[0], "every", NULL);
    }
    solver = nvtxDomainCreateA("solver");
    io = nvtxDomainCreateW(L"input output");
    if (!strcmp(what, "threads")) threads();
    else if (!strcmp(what, "interleaved")) interleaved();
    else if (!strcmp(what, "storm")) storm();
    else if (!strcmp(what, "many")) many();
    else if (!strcmp(what, "colours")) colours();
    else if (!strcmp(what, "payloads")) payloads();
    else if (!strcmp(what, "fork")) forks();
    else every();
    if (!strcmp(what, "kill")) raise(SIGKILL);
    nvtxDomainDestroy(io);
    return 0;
}
