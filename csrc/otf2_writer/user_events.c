/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of the user API. The first pass has found the other ends of messages. Markers and comments are kept for the
   marker file. */
#include <stdlib.h>
#include "containers.h"
#include "pass.h"

#define OF_user(name, number) ~, OF_##name = number,
enum user_kind { VT_KINDS(VT_HANDLED) };

static int message(struct pass *p, uint64_t t, uint32_t what, const uint64_t *w)
{
    uint64_t number = p->messages++;
    uint32_t peer = number < p->maps->nuser_peers ? p->maps->user_peers[number] : VT_UNMAPPED;
    if (peer == VT_UNMAPPED) {
        p->result->unmatched++;
        return VT_OK;
    }
    uint32_t comm = mapped(p, p->maps->user_comms, p->maps->nuser_comms, VT_ID(what));
    if (comm == VT_UNMAPPED) return VT_OK;
    if (VT_KIND(what) == VT_K_USER_SEND) return WRITE(p, MpiSend, t, peer, comm, (uint32_t)w[0], w[1]);
    return WRITE(p, MpiRecv, t, peer, comm, (uint32_t)w[0], w[1]);
}

static int note(struct pass *p, uint64_t t, uint32_t marker, uint32_t text)
{
    struct vt_transcoded *r = p->result;
    if (!VT_ROOM_FOR_NEXT(r->notes, r->nnotes)) return VT_NO_MEMORY;
    r->notes[r->nnotes++] = (struct vt_note){t, marker, text};
    return VT_OK;
}

VT_EXPORT void vt_kernel_notes_free(struct vt_transcoded *result)
{
    free(result->notes);
    result->notes = NULL;
    result->nnotes = 0;
}

/* Recording counts as switched off between the two. */
static int rewound(struct pass *p, uint64_t t, uint64_t ticks)
{
    int early = 0;
    if (p->off) return VT_OK;
    uint64_t end = p->ticks + ticks < p->ticks ? UINT64_MAX : p->ticks + ticks;
    uint64_t stop = vt_times_ns(&p->times, end, &early);
    if (stop < t) stop = t;
    int code = WRITE_WITH(p, NULL, MeasurementOnOff, t, VT_OTF2_MEASUREMENT_OFF);
    p->result->off_ns += stop - t;
    p->last = stop;
    if (!code) code = vt_gap_add(p, t, stop, VT_GAP_UNKNOWN, VT_GAP_REWOUND, VT_CLASS_ALL);
    return code ? code : WRITE_WITH(p, NULL, MeasurementOnOff, stop, VT_OTF2_MEASUREMENT_ON);
}

int vt_user(struct pass *p, uint64_t t, uint32_t what, const uint64_t *w)
{
    switch ((enum user_kind)VT_KIND(what)) {
    case VT_K_REWIND_MARK: return VT_OK;
    case VT_K_REWOUND: return rewound(p, t, w[0]);
    case VT_K_MARKER: return note(p, t, VT_ID(what), (uint32_t)w[0]);
    case VT_K_COMMENT: return note(p, t, VT_UNMAPPED, (uint32_t)w[0]);
    case VT_K_USER_SEND:
    case VT_K_USER_RECV: return message(p, t, what, w);
    }
    __builtin_unreachable();
}
