/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of one-sided communication. */
#include "pass.h"

#define OF_rma(name, number) ~, OF_##name = number,
enum rma_kind { VT_KINDS(VT_HANDLED) };

#define LEVELS (2 * VT_OTF2_RMA_SYNC_LEVEL_MEMORY - 1) /* all bits that have a meaning */

static int bad(struct pass *p, const char *what, uint64_t value)
{
    return vt_fail(p->error, VT_BAD_DATA, "unknown %s %llu", what, (unsigned long long)value);
}

static int collective_end(struct pass *p, uint64_t t, uint32_t win, uint32_t offset, const uint64_t *w)
{
    uint32_t op = (uint32_t)w[0], root = shifted((uint32_t)(w[0] >> 32), offset);
    if (op > VT_OTF2_COLLECTIVE_OP_DESTROY_HANDLE_AND_DEALLOCATE) return bad(p, "collective operation", op);
    if (w[1] > LEVELS) return bad(p, "level of synchronization", w[1]);
    return WRITE(p, RmaCollectiveEnd, t, (uint8_t)op, (uint32_t)w[1], win, root, w[2], w[3]);
}

static int group_sync(struct pass *p, uint64_t t, uint32_t win, const uint64_t *w)
{
    if (w[0] > LEVELS) return bad(p, "level of synchronization", w[0]);
    uint32_t group = mapped(p, p->maps->rank_groups, p->maps->nrank_groups, w[1]);
    return group == VT_UNMAPPED ? VT_OK : WRITE(p, RmaGroupSync, t, (uint32_t)w[0], win, group);
}

/* The rank of a peer. A thread without events is no location of the archive: its process's first one stands for it. */
static uint32_t rank_of(const struct vt_maps *m, uint32_t offset, uint32_t peer)
{
    if (offset != VT_UNMAPPED) return shifted(peer, offset);
    return peer < m->nlocation_ranks && m->location_ranks[peer] != VT_UNMAPPED ? m->location_ranks[peer] : 0;
}

int vt_rma(struct pass *p, uint64_t t, uint32_t what, const uint64_t *w)
{
    const enum rma_kind kind = (enum rma_kind)VT_KIND(what);
    if (kind == OF_RMA_COLL_BEGIN) return WRITE(p, RmaCollectiveBegin, t);
    uint32_t win = mapped(p, p->maps->windows, p->maps->nwindows, VT_ID(what));
    if (win == VT_UNMAPPED) return VT_OK;
    const uint32_t offset = p->maps->window_peer_offset[VT_ID(what)];
    /* Of most records the first word is a peer, and above it a type. */
    const int has_word = vt_record_words[kind] > 1;
    const uint32_t peer = has_word ? rank_of(p->maps, offset, (uint32_t)w[0]) : 0,
                   type = has_word ? (uint32_t)(w[0] >> 32) : 0;
    switch (kind) {
    case VT_K_RMA_COLL_BEGIN: return WRITE(p, RmaCollectiveBegin, t);
    case VT_K_RMA_WIN_CREATE: return WRITE(p, RmaWinCreate, t, win);
    case VT_K_RMA_WIN_DESTROY: return WRITE(p, RmaWinDestroy, t, win);
    case VT_K_RMA_COLL_END: return collective_end(p, t, win, offset, w);
    case VT_K_RMA_GROUP_SYNC: return group_sync(p, t, win, w);
    case VT_K_RMA_COMPLETE_BLOCKING: return WRITE(p, RmaOpCompleteBlocking, t, win, w[0]);
    case VT_K_RMA_COMPLETE_NON_BLOCKING: return WRITE(p, RmaOpCompleteNonBlocking, t, win, w[0]);
    case VT_K_RMA_TEST: return WRITE(p, RmaOpTest, t, win, w[0]);
    case VT_K_RMA_COMPLETE_REMOTE: return WRITE(p, RmaOpCompleteRemote, t, win, w[0]);
    case VT_K_RMA_PUT: return WRITE(p, RmaPut, t, win, peer, w[1], w[2]);
    case VT_K_RMA_GET: return WRITE(p, RmaGet, t, win, peer, w[1], w[2]);
    case VT_K_RMA_ATOMIC:
        if (type > VT_OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE) return bad(p, "atomic operation", type);
        return WRITE(p, RmaAtomic, t, win, peer, (uint8_t)type, w[1], w[2], w[3]);
    case VT_K_RMA_SYNC:
        if (type > VT_OTF2_RMA_SYNC_TYPE_NOTIFY_OUT) return bad(p, "type of synchronization", type);
        return WRITE(p, RmaSync, t, win, peer, (uint8_t)type);
    case VT_K_RMA_RELEASE_LOCK: return WRITE(p, RmaReleaseLock, t, win, peer, w[1]);
    case VT_K_RMA_REQUEST_LOCK:
        if (type > VT_OTF2_LOCK_SHARED) return bad(p, "type of lock", type);
        return WRITE(p, RmaRequestLock, t, win, peer, w[1], (uint8_t)type);
    case VT_K_RMA_ACQUIRE_LOCK:
        if (type > VT_OTF2_LOCK_SHARED) return bad(p, "type of lock", type);
        return WRITE(p, RmaAcquireLock, t, win, peer, w[1], (uint8_t)type);
    case VT_K_RMA_TRY_LOCK:
        if (type > VT_OTF2_LOCK_SHARED) return bad(p, "type of lock", type);
        return WRITE(p, RmaTryLock, t, win, peer, w[1], (uint8_t)type);
    }
    __builtin_unreachable();
}
