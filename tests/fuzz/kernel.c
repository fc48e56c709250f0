/* SPDX-License-Identifier: BSD-3-Clause */
/* libFuzzer on the kernel. Input bytes become blocks and chunks as in mapped files. Each resulting event is checked
   against the requirements of OTF2 readers. test_kernel_fuzz.py builds this file with ASan and UBSan. */
#include <dlfcn.h>
#include <stdlib.h>
#include "core/columns.h"
#include "insist.h"
#include "otf2_writer/transcode.h"

#define ROWS_MAX 64
#define WRITER ((void *)0x1234)
#define LIST ((OTF2_AttributeList *)0x5678)
#define ATTRIBUTES_MAX 32

/* Precedes each block in the input. The payload is records; with STORED, it is the stored bytes. */
struct piece {
    uint8_t how, codec, step, nopen;
    uint16_t bytes, classes;
    uint32_t raw_bytes, unused;
    uint64_t ticks, end_ticks;
};
enum { CHUNK = 1, WRONG_CHECKSUM = 2, STORED = 4, RAW_BYTES = 8, DEFINITIONS = 16 };

/* Precedes all blocks. fail: number of the event that OTF2 refuses, 0 none. */
struct options {
    uint16_t fail;
    uint8_t nknots, unused[5];
    uint64_t knot_ticks[4], knot_ns[4];
};

/* ---- A libotf2 that checks everything ---- */

static struct {
    uint64_t last, events, fail, depth, size, counts[VT_EVENT_KINDS];
    uint32_t *stack, regions, comms, others, attributes, ids[ATTRIBUTES_MAX], lists;
} reader;

static int32_t event(enum vt_event number, const void *writer, const void *attributes, uint64_t time)
{
    INSIST(writer == WRITER && time >= reader.last && time <= UINT64_MAX >> 1);
    INSIST(attributes ? attributes == LIST && reader.attributes : !reader.attributes || number == VT_N_EvtWriter_Leave
           || number == VT_N_EvtWriter_BufferFlush || number == VT_N_EvtWriter_MeasurementOnOff);
    INSIST(!reader.fail || reader.events < reader.fail); /* no event may follow an error */
    if (++reader.events == reader.fail) return 78;
    reader.last = time;
    reader.counts[number]++;
    if (attributes) reader.attributes = 0;
    return 0;
}

/* ---- Attributes ---- */

static OTF2_AttributeList *list_new(void)
{
    INSIST(!reader.lists++);
    return LIST;
}

static int32_t list_delete(OTF2_AttributeList *list)
{
    INSIST(list == LIST && reader.lists--);
    return 0;
}

static int32_t list_clear(OTF2_AttributeList *list)
{
    INSIST(list == LIST && reader.lists);
    reader.attributes = 0;
    return 0;
}

static int32_t list_add(OTF2_AttributeList *list, uint32_t id)
{
    INSIST(list == LIST && reader.lists && reader.attributes < ATTRIBUTES_MAX);
    for (uint32_t i = 0; i < reader.attributes; i++) INSIST(reader.ids[i] != id);
    reader.ids[reader.attributes++] = id;
    return 0;
}

#define NUMBER(name, type)                                                                                            \
    static int32_t Add##name(OTF2_AttributeList *list, uint32_t id, type value)                                       \
    {                                                                                                                 \
        (void)value;                                                                                                  \
        return list_add(list, id);                                                                                    \
    }
NUMBER(Uint8, uint8_t)
NUMBER(Uint16, uint16_t)
NUMBER(Uint32, uint32_t)
NUMBER(Uint64, uint64_t)
NUMBER(Int8, int8_t)
NUMBER(Int16, int16_t)
NUMBER(Int32, int32_t)
NUMBER(Int64, int64_t)
NUMBER(Float, float)
NUMBER(Double, double)

#define REFERENCE(name, limit)                                                                                        \
    static int32_t Add##name(OTF2_AttributeList *list, uint32_t id, uint32_t value)                                   \
    {                                                                                                                 \
        INSIST(value < limit);                                                                                        \
        return list_add(list, id);                                                                                    \
    }
REFERENCE(RegionRef, reader.regions + 1)
REFERENCE(CommRef, reader.comms)
REFERENCE(RmaWinRef, reader.others)
REFERENCE(IoFileRef, reader.others)
REFERENCE(IoHandleRef, reader.others)
REFERENCE(StringRef, reader.others)

/* ---- Events ---- */

#define HEAD OTF2_EvtWriter *w, OTF2_AttributeList *a, uint64_t t

static int32_t enter(HEAD, uint32_t region)
{
    INSIST(region <= reader.regions);
    if (reader.depth == reader.size) {
        reader.size = reader.size ? reader.size * 2 : 64;
        reader.stack = realloc(reader.stack, reader.size * sizeof *reader.stack);
    }
    reader.stack[reader.depth++] = region;
    return event(VT_N_EvtWriter_Enter, w, a, t);
}

static int32_t leave(HEAD, uint32_t region)
{
    INSIST(reader.depth && reader.stack[--reader.depth] == region);
    return event(VT_N_EvtWriter_Leave, w, a, t);
}

static int32_t flush(HEAD, uint64_t stop)
{
    INSIST(stop >= t);
    int32_t code = event(VT_N_EvtWriter_BufferFlush, w, a, t);
    if (!code) reader.last = stop;
    return code;
}

static int32_t on_off(HEAD, uint8_t mode)
{
    INSIST(mode == 1 || mode == 2);
    return event(VT_N_EvtWriter_MeasurementOnOff, w, a, t);
}

static int32_t metric(HEAD, uint32_t id, uint8_t n, const uint8_t *types, const union OTF2_MetricValue_union *values)
{
    uint64_t value[2];
    memcpy(value, values, n * sizeof *value);
    INSIST(id == 0 && (n == 1 ? *types == 10 : n == 2 && types[0] == 4 && types[1] == 4));
    if (n == 2) INSIST(value[0] <= INT64_MAX && value[1] <= INT64_MAX);
    return event(VT_N_EvtWriter_Metric, w, a, t);
}

/* Conditions on the arguments of all other kinds. */
#define EVENT(name, condition, ...)                                                                                   \
    static int32_t name(HEAD, ##__VA_ARGS__)                                                                          \
    {                                                                                                                 \
        INSIST(condition);                                                                                            \
        return event(VT_N_EvtWriter_##name, w, a, t);                                                                 \
    }
#define ANY uint32_t __attribute__((unused))
#define ANY8 uint64_t __attribute__((unused))
EVENT(MpiSend, comm < reader.comms, ANY peer, uint32_t comm, ANY tag, ANY8 bytes)
EVENT(MpiRecv, comm < reader.comms, ANY peer, uint32_t comm, ANY tag, ANY8 bytes)
EVENT(MpiIsend, comm < reader.comms, ANY peer, uint32_t comm, ANY tag, ANY8 bytes, ANY8 request)
EVENT(MpiIrecv, comm < reader.comms, ANY peer, uint32_t comm, ANY tag, ANY8 bytes, ANY8 request)
EVENT(MpiIsendComplete, 1, ANY8 request)
EVENT(MpiIrecvRequest, 1, ANY8 request)
EVENT(MpiRequestTest, 1, ANY8 request)
EVENT(MpiRequestCancelled, 1, ANY8 request)
EVENT(NonBlockingCollectiveRequest, 1, ANY8 request)
EVENT(MpiCollectiveBegin, 1)
EVENT(MpiCollectiveEnd, op < 23 && comm < reader.comms, uint8_t op, uint32_t comm, ANY root, ANY8 sent, ANY8 received)
EVENT(NonBlockingCollectiveComplete, op < 23 && comm < reader.comms, uint8_t op, uint32_t comm, ANY root, ANY8 sent,
      ANY8 received, ANY8 request)
EVENT(CommCreate, comm < reader.comms, uint32_t comm)
EVENT(CommDestroy, comm < reader.comms, uint32_t comm)

#define WIN win < reader.others
EVENT(RmaWinCreate, WIN, uint32_t win)
EVENT(RmaWinDestroy, WIN, uint32_t win)
EVENT(RmaCollectiveBegin, 1)
EVENT(RmaCollectiveEnd, WIN && op < 23 && level < 4, uint8_t op, uint32_t level, uint32_t win, ANY root, ANY8 sent,
      ANY8 received)
EVENT(RmaGroupSync, WIN && level < 4 && group < reader.others, uint32_t level, uint32_t win, uint32_t group)
EVENT(RmaRequestLock, WIN && type < 2, uint32_t win, ANY peer, ANY8 lock, uint8_t type)
EVENT(RmaAcquireLock, WIN && type < 2, uint32_t win, ANY peer, ANY8 lock, uint8_t type)
EVENT(RmaTryLock, WIN && type < 2, uint32_t win, ANY peer, ANY8 lock, uint8_t type)
EVENT(RmaReleaseLock, WIN, uint32_t win, ANY peer, ANY8 lock)
EVENT(RmaSync, WIN && type < 3, uint32_t win, ANY peer, uint8_t type)
EVENT(RmaPut, WIN, uint32_t win, ANY peer, ANY8 bytes, ANY8 match)
EVENT(RmaGet, WIN, uint32_t win, ANY peer, ANY8 bytes, ANY8 match)
EVENT(RmaAtomic, WIN && type < 8, uint32_t win, ANY peer, uint8_t type, ANY8 sent, ANY8 received, ANY8 match)
EVENT(RmaOpCompleteBlocking, WIN, uint32_t win, ANY8 match)
EVENT(RmaOpCompleteNonBlocking, WIN, uint32_t win, ANY8 match)
EVENT(RmaOpTest, WIN, uint32_t win, ANY8 match)
EVENT(RmaOpCompleteRemote, WIN, uint32_t win, ANY8 match)

#define FILE_ handle < reader.others
EVENT(IoCreateHandle, FILE_ && mode < 5 && creation < 2048 && status < 512, uint32_t handle, uint8_t mode,
      uint32_t creation, uint32_t status)
EVENT(IoDestroyHandle, FILE_, uint32_t handle)
EVENT(IoDuplicateHandle, FILE_ && copy < reader.others && status < 512, uint32_t handle, uint32_t copy, uint32_t status)
EVENT(IoSeek, FILE_ && whence < 5, uint32_t handle, int64_t __attribute__((unused)) asked, uint8_t whence, ANY8 reached)
EVENT(IoChangeStatusFlags, FILE_ && status < 512, uint32_t handle, uint32_t status)
EVENT(IoDeleteFile, paradigm < 3 && file < reader.others, uint8_t paradigm, uint32_t file)
EVENT(IoOperationBegin, FILE_ && mode < 3 && flags < 4, uint32_t handle, uint8_t mode, uint32_t flags, ANY8 bytes,
      ANY8 match)
EVENT(IoOperationTest, FILE_, uint32_t handle, ANY8 match)
EVENT(IoOperationIssued, FILE_, uint32_t handle, ANY8 match)
EVENT(IoOperationComplete, FILE_, uint32_t handle, ANY8 bytes, ANY8 match)
EVENT(IoOperationCancelled, FILE_, uint32_t handle, ANY8 match)
EVENT(IoAcquireLock, FILE_ && type < 2, uint32_t handle, uint8_t type)
EVENT(IoReleaseLock, FILE_ && type < 2, uint32_t handle, uint8_t type)
EVENT(IoTryLock, FILE_ && type < 2, uint32_t handle, uint8_t type)

#define TEAM comm == 1
EVENT(ThreadCreate, TEAM, uint32_t comm, ANY8 number)
EVENT(ThreadBegin, TEAM, uint32_t comm, ANY8 number)
EVENT(ThreadEnd, TEAM, uint32_t comm, ANY8 number)
EVENT(ThreadWait, TEAM, uint32_t comm, ANY8 number)
EVENT(ThreadAcquireLock, paradigm < 23, uint8_t paradigm, ANY lock, ANY order)
EVENT(ThreadReleaseLock, paradigm < 23, uint8_t paradigm, ANY lock, ANY order)

#define TEAM_OF_4 team < 4
EVENT(ThreadFork, paradigm < 23, uint8_t paradigm, ANY threads)
EVENT(ThreadJoin, paradigm < 23, uint8_t paradigm)
EVENT(ThreadTeamBegin, TEAM_OF_4, uint32_t team)
EVENT(ThreadTeamEnd, TEAM_OF_4, uint32_t team)
EVENT(ThreadTaskCreate, TEAM_OF_4 && rank < 2, uint32_t team, uint32_t rank, ANY task)
EVENT(ThreadTaskSwitch, TEAM_OF_4 && rank < 2, uint32_t team, uint32_t rank, ANY task)
EVENT(ThreadTaskComplete, TEAM_OF_4 && rank < 2, uint32_t team, uint32_t rank, ANY task)

static void take_operations(void)
{
#define TAKE(name) vt_otf2.EvtWriter_##name = name;
    TAKE(RmaWinCreate) TAKE(RmaWinDestroy) TAKE(RmaCollectiveBegin) TAKE(RmaCollectiveEnd) TAKE(RmaGroupSync)
    TAKE(RmaRequestLock) TAKE(RmaAcquireLock) TAKE(RmaTryLock) TAKE(RmaReleaseLock) TAKE(RmaSync) TAKE(RmaPut)
    TAKE(RmaGet) TAKE(RmaAtomic) TAKE(RmaOpCompleteBlocking) TAKE(RmaOpCompleteNonBlocking) TAKE(RmaOpTest)
    TAKE(RmaOpCompleteRemote) TAKE(IoCreateHandle) TAKE(IoDestroyHandle) TAKE(IoDuplicateHandle) TAKE(IoSeek)
    TAKE(IoChangeStatusFlags) TAKE(IoDeleteFile) TAKE(IoOperationBegin) TAKE(IoOperationTest) TAKE(IoOperationIssued)
    TAKE(IoOperationComplete) TAKE(IoOperationCancelled) TAKE(IoAcquireLock) TAKE(IoReleaseLock) TAKE(IoTryLock)
    TAKE(ThreadFork) TAKE(ThreadJoin) TAKE(ThreadTeamBegin) TAKE(ThreadTeamEnd) TAKE(ThreadTaskCreate)
    TAKE(ThreadTaskSwitch) TAKE(ThreadTaskComplete)
    TAKE(ThreadCreate) TAKE(ThreadBegin) TAKE(ThreadEnd) TAKE(ThreadWait) TAKE(ThreadAcquireLock) TAKE(ThreadReleaseLock)
#define TAKE_ADD(name) vt_otf2.AttributeList_Add##name = Add##name;
    TAKE_ADD(Uint8) TAKE_ADD(Uint16) TAKE_ADD(Uint32) TAKE_ADD(Uint64) TAKE_ADD(Int8) TAKE_ADD(Int16) TAKE_ADD(Int32)
    TAKE_ADD(Int64) TAKE_ADD(Float) TAKE_ADD(Double) TAKE_ADD(RegionRef) TAKE_ADD(CommRef) TAKE_ADD(RmaWinRef)
    TAKE_ADD(IoFileRef) TAKE_ADD(IoHandleRef) TAKE_ADD(StringRef)
    vt_otf2.AttributeList_New = list_new;
    vt_otf2.AttributeList_Delete = list_delete;
    vt_otf2.AttributeList_RemoveAllAttributes = list_clear;
}

static void take_libotf2(void)
{
    vt_otf2 = (struct vt_otf2){
        .EvtWriter_Enter = enter, .EvtWriter_Leave = leave, .EvtWriter_BufferFlush = flush,
        .EvtWriter_MeasurementOnOff = on_off, .EvtWriter_Metric = metric, .EvtWriter_MpiSend = MpiSend,
        .EvtWriter_MpiRecv = MpiRecv, .EvtWriter_MpiIsend = MpiIsend, .EvtWriter_MpiIrecv = MpiIrecv,
        .EvtWriter_MpiIsendComplete = MpiIsendComplete, .EvtWriter_MpiIrecvRequest = MpiIrecvRequest,
        .EvtWriter_MpiRequestTest = MpiRequestTest, .EvtWriter_MpiRequestCancelled = MpiRequestCancelled,
        .EvtWriter_MpiCollectiveBegin = MpiCollectiveBegin, .EvtWriter_MpiCollectiveEnd = MpiCollectiveEnd,
        .EvtWriter_NonBlockingCollectiveRequest = NonBlockingCollectiveRequest,
        .EvtWriter_NonBlockingCollectiveComplete = NonBlockingCollectiveComplete, .EvtWriter_CommCreate = CommCreate,
        .EvtWriter_CommDestroy = CommDestroy,
    };
    take_operations();
}

/* ---- From bytes to rows ---- */

static size_t (*compress)(void *, size_t, const void *, size_t, int);

/* Replaces madvise: the kernel releases pages of mapped files, but the rows here are not mapped files. */
int vt_fuzz_madvise(void *address, size_t bytes, int advice)
{
    (void)advice;
    INSIST(((uintptr_t)address & 4095) == 0 && bytes && bytes < 5u << 20);
    return 0;
}

static uint32_t varint(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    uint8_t *at = to;
    for (uint32_t i = 0; i + 8 <= bytes; i += 8) {
        uint32_t halves[2];
        memcpy(halves, from + i, 8);
        for (int k = 1; k >= 0; k--) {
            uint32_t v = k ? halves[1] : halves[0] << 2 | halves[0] >> 30;
            for (; v >= 128; v >>= 7) *at++ = (uint8_t)(v | 128);
            *at++ = (uint8_t)v;
        }
    }
    return (uint32_t)(at - to);
}

/* The stored bytes of a block of this codec with these records. */
static uint32_t encode(uint8_t *to, size_t capacity, uint8_t codec, const uint8_t *from, uint32_t bytes)
{
    static struct vt_packer packer;
    if (codec == VT_VARINT) return varint(to, from, bytes);
    if (codec == VT_ZSTD_COLUMNS) {
        static uint64_t words[VT_CHUNK_WORDS];
        memcpy(words, from, bytes < sizeof words ? bytes : sizeof words);
        uint32_t n = bytes / 8 < VT_CHUNK_WORDS ? bytes / 8 : VT_CHUNK_WORDS;
        uint32_t packed = vt_columns_pack(&packer, words, n, bytes & 1 ? 0x1a8000 : 0);
        if (packed) return (uint32_t)compress(to, capacity, packer.columns, packed, 1);
    }
    if (codec == VT_ZSTD) return (uint32_t)compress(to, capacity, from, bytes, 1);
    memcpy(to, from, bytes);
    return bytes;
}

/* A block in memory of exactly its size, so that ASan sees an access beyond its end. row: its row of the index. */
static void *block(struct vt_row *row, const struct piece *p, const uint64_t *open, const uint8_t *payload)
{
    static uint8_t stored[3 * UINT16_MAX];
    uint32_t n = p->how & STORED ? p->bytes : encode(stored, sizeof stored, p->codec, payload, p->bytes);
    struct vt_block head = {.version = VT_FORMAT_VERSION, .codec = p->codec, .content = row->content, .raw_bytes = row->raw_bytes,
                            .stored_bytes = n, .nopen = p->nopen, .ticks = p->ticks, .end_ticks = p->end_ticks};
    uint8_t *memory = malloc(sizeof head + n);
    memcpy(head.magic, VT_BLOCK_MAGIC, sizeof head.magic);
    memcpy(head.open, open, sizeof head.open);
    memcpy(memory + sizeof head, p->how & STORED ? payload : stored, n);
    head.checksum = vt_checksum(vt_checksum(0, &head, sizeof head), memory + sizeof head, n);
    head.checksum ^= !!(p->how & WRONG_CHECKSUM);
    memcpy(memory, &head, sizeof head);
    row->stored_bytes = n;
    return memory;
}

static void *chunk(struct vt_row *row, const struct piece *p, const uint64_t *open, const uint8_t *payload)
{
    struct vt_chunk head = {.nopen = p->nopen, .ticks = p->ticks, .content = row->content};
    size_t bytes = row->raw_bytes > VT_RAW_MAX ? p->bytes : row->raw_bytes;
    uint8_t *memory = calloc(1, VT_CHUNK_DATA + bytes);
    memcpy(head.open, open, sizeof head.open);
    memcpy(memory, &head, sizeof head);
    memcpy(memory + VT_CHUNK_DATA, payload, bytes < p->bytes ? bytes : p->bytes);
    row->stored_bytes = (uint32_t)bytes;
    return memory;
}

static uint32_t make_rows(struct vt_row *rows, const uint8_t *data, size_t size)
{
    uint32_t n = 0, sequence = 0;
    while (n < ROWS_MAX && size >= sizeof(struct piece)) {
        struct piece p;
        uint64_t open[VT_OPEN_MAX] = {0};
        memcpy(&p, data, sizeof p);
        data += sizeof p, size -= sizeof p;
        size_t opens = (p.nopen < VT_OPEN_MAX ? p.nopen : VT_OPEN_MAX) * sizeof *open;
        if (opens > size) opens = size & ~(size_t)7;
        memcpy(open, data, opens);
        data += opens, size -= opens;
        if (p.bytes > size) p.bytes = (uint16_t)size;
        sequence += p.step & 3;
        struct vt_row *row = &rows[n++];
        *row = (struct vt_row){
            .form = p.how & CHUNK, .content = p.how & DEFINITIONS ? VT_DEFINITIONS : VT_EVENTS, .codec = p.codec,
            .sequence = sequence, .classes = p.classes ? p.classes : VT_CLASS_ALL, .ticks = p.ticks,
            .raw_bytes = p.how & RAW_BYTES ? p.raw_bytes : p.bytes & ~7u, .end_ticks = p.end_ticks,
        };
        row->address = (uintptr_t)(p.how & CHUNK ? chunk : block)(row, &p, open, data);
        data += p.bytes, size -= p.bytes;
        sequence++;
    }
    return n;
}

/* ---- Conditions on the results ---- */

static int transcode(const struct vt_row *rows, uint32_t n, const struct vt_maps *maps, uint16_t fail,
                     struct vt_transcoded *result)
{
    struct vt_error error = {0};
    memset(&reader, 0, sizeof reader);
    reader.fail = fail;
    reader.regions = maps->unknown_region;
    reader.comms = maps->ncomms ? (uint32_t)maps->ncomms : 1; /* communicators of the user API have numbers from 0 */
    reader.others = (uint32_t)maps->nwindows;
    int code = vt_kernel_transcode(WRITER, rows, n, maps, NULL, NULL, NULL, result, &error);
    INSIST(code == VT_OK || code == VT_BAD_DATA || code == VT_BAD_OTF2 || code == VT_BAD_ARGUMENT);
    INSIST(memchr(error.text, 0, sizeof error.text) && (!n || error.row < n) && error.offset <= VT_RAW_MAX);
    INSIST((code == VT_BAD_OTF2) == (fail && reader.events == fail));
    INSIST(!reader.lists);
    if (code == VT_BAD_DATA || code == VT_BAD_ARGUMENT) INSIST(error.text[0]);
    if (code == VT_OK) {
        INSIST(!reader.depth && result->events == reader.events && result->last_ns >= reader.last);
        INSIST(!memcmp(result->counts, reader.counts, sizeof reader.counts));
        INSIST(result->first_ns <= result->last_ns);
        for (uint64_t i = 0; i < result->nnotes; i++) INSIST(result->notes[i].ns <= result->last_ns);
    }
    vt_kernel_notes_free(result);
    vt_kernel_gaps_free(result);
    vt_kernel_waits_free(result);
    free(reader.stack);
    return code;
}

/* Sums the heap of a process with three locations: all rows, their second half, and none. */
static void join(const struct vt_row *rows, uint32_t n, const struct vt_maps *maps, uint16_t fail)
{
    struct vt_stream streams[3] = {{rows, n, 0}, {rows + n / 2, n - n / 2, 0}, {NULL, 0, 0}};
    struct vt_transcoded result;
    struct vt_error error = {0};
    uint32_t which = 9;
    memset(&reader, 0, sizeof reader);
    reader.fail = fail;
    int code = vt_kernel_heap(WRITER, streams, 3, maps, 0, NULL, NULL, &result, &which, &error);
    INSIST(code == VT_OK || code == VT_BAD_DATA || code == VT_BAD_OTF2 || code == VT_BAD_ARGUMENT);
    INSIST(which < 3 && (!n || error.row < n) && error.offset <= VT_RAW_MAX);
    INSIST((code == VT_BAD_OTF2) == (fail && reader.events == fail));
    if (code == VT_OK) INSIST(result.events == reader.counts[VT_N_EvtWriter_Metric] && result.last_ns == reader.last);
}

/* Checks all rows by other code: returns 1 if all records are complete. Sets beyond if a record refers to an id that
   scans leave out, or if an event has several attributes, which may be equal. */
static int well_formed(const struct vt_row *rows, uint32_t n, int *beyond)
{
    static uint64_t words[VT_WORDS_MAX];
    struct vt_error error;
    int pending = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t ticks = rows[i].ticks;
        if (vt_kernel_decode(&rows[i], (uint8_t *)words, &error)) return 0;
        for (uint32_t k = 0, count = rows[i].raw_bytes / 8; k < count;) {
            uint32_t what = (uint32_t)words[k], payload = 0;
            if (!(what & VT_FUNCTION)) {
                payload = VT_WORDS(what);
                if (!vt_record_words[VT_KIND(what)] || vt_record_words[VT_KIND(what)] != payload + 1) return 0;
            }
            if (payload > count - k - 1) return 0;
            ticks += (words[k] >> 32) + (VT_KIND(what) == VT_K_TIME && payload ? words[k + 1] : 0);
            k += 1 + payload;
            *beyond |= VT_KIND(what) == VT_K_ENTER_ADDRESS && words[k - 1] == UINT64_MAX;
            if (what & VT_FUNCTION || VT_KIND(what) < VT_K_LOST || VT_KIND(what) > VT_K_LIMIT) {
                int attribute = !(what & VT_FUNCTION) && VT_KIND(what) == VT_K_ATTRIBUTE;
                *beyond |= attribute && pending;
                if (what & VT_FUNCTION || (VT_KIND(what) != VT_K_TIME && VT_KIND(what) != VT_K_HEAP)) pending = attribute;
            }
            /* Scans leave out the regions of teams. */
            *beyond |= VT_KIND(what) >= VT_K_THREAD_FORK && VT_KIND(what) <= VT_K_THREAD_TEAM_JOINED;
            *beyond |= VT_KIND(what) == VT_K_RMA_GROUP_SYNC && words[k - 1] > VT_ID_MAX;
            *beyond |= VT_KIND(what) == VT_K_IO_DUPLICATE && (uint32_t)words[k - 1] > VT_ID_MAX;
        }
        if (ticks > VT_TICKS_MAX) return 0;
    }
    return 1;
}

/* Transcodes with maps for exactly the ids that the scan found: then no id may be unmapped. */
static void transcode_all(const struct vt_row *rows, uint32_t n, struct vt_maps maps, const struct vt_scan *found,
                          int unmapped)
{
    static uint32_t same[VT_ID_MAX + 1];
    static uint8_t types[VT_ID_MAX + 1]; /* also used as flags: all regions are the program's own */
    uint64_t most = found->nfunctions > found->naddresses ? found->nfunctions : found->naddresses;
    uint32_t *functions = malloc((found->nfunctions + 1) * sizeof *functions), *numbers = calloc(most + 1, 4);
    for (uint64_t i = 0; i < found->nfunctions; i++) functions[i] = (uint32_t)found->functions[i];
    maps.nfunctions = found->nfunctions, maps.function_offsets = functions, maps.function_regions = numbers;
    maps.naddresses = found->naddresses, maps.addresses = found->addresses, maps.address_regions = numbers;
    maps.nregions = found->nregions ? found->regions[found->nregions - 1] + 1 : 0, maps.regions = same;
    maps.ncomms = found->ncomms ? found->comms[found->ncomms - 1] + 1 : 0;
    maps.comms = maps.comm_peer_offset = same;
    maps.nmetrics = VT_ID_MAX + 1, maps.metrics = same, maps.metric_types = types;
    maps.nhandles = found->nhandles ? found->handles[found->nhandles - 1] + 1 : 0, maps.handles = same;
    if (maps.nhandles > VT_ID_MAX + 1) maps.nhandles = VT_ID_MAX + 1;
    maps.nwindows = maps.nfiles = maps.nrank_groups = maps.nattributes = VT_ID_MAX + 1;
    maps.windows = maps.window_peer_offset = maps.files = maps.rank_groups = maps.attributes = same;
    maps.attribute_types = types;
    maps.nstrings = VT_ID_MAX + 1, maps.strings = same;
    static const uint32_t first[] = {0, 2, 2, 3}, members[] = {0, 1, 0, 0, 1};
    static const uint64_t joined[] = {0, 2000, UINT64_MAX, 1, 3000};
    maps.nteams = 4, maps.teams = same, maps.team_first = first;
    maps.nteam_members = 5, maps.team_members = members, maps.team_joined = joined;
    maps.user_regions = types, maps.nuser_comms = VT_ID_MAX + 1, maps.user_comms = same;
    uint32_t *peers = calloc(found->nmessages + 1, sizeof *peers);
    maps.nuser_peers = found->nmessages, maps.user_peers = peers;
    maps.heap_attributes = VT_UNMAPPED, maps.thread_comm = 1;
    if (!types[0]) memset(types, 10, sizeof types);
    struct vt_transcoded result;
    int code = transcode(rows, n, &maps, 0, &result);
    if (code == VT_OK) INSIST((!result.unmapped || unmapped) && !result.unmatched);
    free(peers);
    free(functions);
    free(numbers);
}

static void try_all(const struct options *options, const struct vt_row *rows, uint32_t n)
{
    static const uint32_t functions[] = {1, 2, 3, VT_CODE_MASK}, comms[] = {VT_UNMAPPED, 0, 1, 2};
    static const uint32_t regions[] = {VT_UNMAPPED, 0, 1, 2, 3}, offsets[] = {0, 0, 1, UINT32_MAX}, metrics[] = {0};
    static const uint64_t addresses[] = {0x7001, 0x7002, UINT64_MAX - 1};
    static const uint8_t users[] = {0, 1, 1, 0, 1};
    static const uint8_t types[] = {10}, attribute_types[] = {4, 1, 14, 17, 19, 23, 24, 9, 11, 0};
    static const uint32_t others[] = {VT_UNMAPPED, 0, 1, 2}, attributes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 0};
    struct vt_maps maps = {
        .function_offsets = functions, .function_regions = functions, .nfunctions = 3, .addresses = addresses,
        .address_regions = functions, .naddresses = 3, .regions = regions, .nregions = 5, .comms = comms,
        .comm_peer_offset = offsets, .ncomms = 4, .metrics = metrics, .metric_types = types, .nmetrics = 1,
        .windows = others, .window_peer_offset = offsets, .rank_groups = others, .files = others, .handles = others,
        .strings = others, .nwindows = 4, .nrank_groups = 4, .nfiles = 4, .nhandles = 4, .nstrings = 4,
        .attributes = attributes, .thread_comm = options->nknots & 128 ? VT_UNMAPPED : 1,
        .attribute_types = attribute_types, .nattributes = sizeof attribute_types,
        .knot_ticks = options->knot_ticks, .knot_ns = options->knot_ns, .nknots = options->nknots % 5,
        .user_regions = users, .user_comms = others, .nuser_comms = 4, .user_peers = others, .nuser_peers = 4,
        .unknown_region = 3, .heap_attributes = options->nknots & 64 ? VT_UNMAPPED : 20,
    };
    struct vt_transcoded result;
    struct vt_error error = {0};
    struct vt_scan found;
    vt_kernel_scan(rows, n, VT_CLASS_NEW_CODE | VT_CLASS_REGION, &found, &error);
    vt_kernel_scan_free(&found);
    int code = transcode(rows, n, &maps, options->fail, &result);
    join(rows, n, &maps, options->fail);
    int scanned = vt_kernel_scan(rows, n, VT_CLASS_ALL, &found, &error), beyond = 0;
    INSIST(scanned == VT_OK || scanned == VT_BAD_DATA);
    INSIST((scanned == VT_OK) == well_formed(rows, n, &beyond));
    if (code == VT_OK) INSIST(scanned == VT_OK);
    if (scanned == VT_OK) {
        transcode_all(rows, n, maps, &found, beyond);
        vt_kernel_scan_free(&found);
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    void *zstd = dlopen("libzstd.so.1", RTLD_NOW);
    INSIST(zstd && vt_kernel_zstd(NULL));
    *(void **)&compress = dlsym(zstd, "ZSTD_compress");
    take_libotf2();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct options options;
    struct vt_row rows[ROWS_MAX];
    if (size < sizeof options) return 0;
    memcpy(&options, data, sizeof options);
    uint32_t n = make_rows(rows, data + sizeof options, size - sizeof options);
    try_all(&options, rows, n);
    for (uint32_t i = 0; i < n; i++) free((void *)(uintptr_t)rows[i].address);
    return 0;
}
