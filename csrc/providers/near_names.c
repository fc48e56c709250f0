/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>
#include <strings.h>
#include "near_names.h"

static char small(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

/* Returns how many characters must be added, removed or replaced to make one name of the other (Levenshtein 1966). The
   names are shorter than VT_NEAR_BYTES. */
static unsigned distance_of(const char *a, size_t na, const char *b, size_t nb)
{
    unsigned row[VT_NEAR_BYTES];
    for (size_t j = 0; j <= nb; j++) row[j] = (unsigned)j;
    for (size_t i = 1; i <= na; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= nb; j++) {
            unsigned best = diagonal + (small(a[i - 1]) != small(b[j - 1]));
            diagonal = row[j];
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[nb];
}

void vt_near_begin(struct vt_near *n, const char *wanted, size_t length)
{
    *n = (struct vt_near){.wanted = wanted, .length = length, .distance = (unsigned)length / 3};
}

void vt_near_add(struct vt_near *n, const char *name)
{
    size_t length = strlen(name);
    if (length >= VT_NEAR_BYTES || n->length >= VT_NEAR_BYTES) return;
    unsigned distance = distance_of(n->wanted, n->length, name, length);
    if (distance > n->distance) return;
    if (distance < n->distance) n->count = 0;
    n->distance = distance;
    for (unsigned i = 0; i < n->count; i++)
        if (!strcasecmp(n->names[i], name)) return; /* libpfm4 has the kernel's names, too, in capitals */
    if (n->count < VT_NEAR_NAMES) memcpy(n->names[n->count++], name, length + 1);
}

unsigned vt_near_show(const struct vt_near *n, struct vt_text *t)
{
    for (unsigned i = 0; i < n->count; i++) {
        if (i) vt_text_add(t, i + 1 < n->count ? ", " : " or ");
        vt_text_add(t, n->names[i]);
    }
    return n->count;
}
