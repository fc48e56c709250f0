/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>
#include <strings.h>
#include "perf_events.h"

void vt_near_begin(struct vt_near *n, const char *wanted, size_t length)
{
    *n = (struct vt_near){.wanted = wanted, .length = length, .distance = (unsigned)length / 3};
}

void vt_near_add(struct vt_near *n, const char *name)
{
    size_t length = strlen(name);
    if (length >= VT_TEXT_NAME || n->length >= VT_TEXT_NAME) return;
    unsigned distance = vt_text_distance(n->wanted, n->length, name, length);
    if (distance > n->distance) return;
    if (distance < n->distance) n->count = 0;
    n->distance = distance;
    for (unsigned i = 0; i < n->count; i++)
        if (!strcasecmp(n->names[i], name)) return; /* libpfm4 has the kernel's names, too, in capitals */
    if (n->count < VT_NEAR_NAMES) memcpy(n->names[n->count++], name, length + 1);
}

const char *vt_near_tell(const struct vt_near *n, const char *what, char *into, size_t bytes)
{
    struct vt_text t = vt_text_into(into, bytes);
    vt_text_add(&t, "unknown ");
    vt_text_add(&t, what);
    for (unsigned i = 0; i < n->count; i++) {
        vt_text_add(&t, !i ? ", did you mean " : i + 1 < n->count ? ", " : " or ");
        vt_text_add(&t, n->names[i]);
    }
    vt_text_add(&t, n->count ? "? (vtrace counters lists them)" : " (vtrace counters lists them)");
    return into;
}
