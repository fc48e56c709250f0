/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores the requests whose start is in the records that a flight recorder has kept: a completion without its start
   would confuse readers. */
#include <stdlib.h>
#include "pass.h"

static uint64_t place_of(const struct requests *r, uint64_t id)
{
    uint64_t at = id * 0x9e3779b97f4a7c15u >> 20 & (r->size - 1);
    while (r->ids[at] && r->ids[at] != id) at = (at + 1) & (r->size - 1);
    return at;
}

static int grow(struct requests *r)
{
    struct requests larger = {NULL, r->size ? 2 * r->size : 256, r->count};
    larger.ids = calloc(larger.size, sizeof *larger.ids);
    if (!larger.ids) return 0;
    for (uint64_t i = 0; i < r->size; i++)
        if (r->ids[i]) larger.ids[place_of(&larger, r->ids[i])] = r->ids[i];
    free(r->ids);
    *r = larger;
    return 1;
}

int vt_request_starts(struct pass *p, uint64_t id)
{
    struct requests *r = &p->requests;
    if (!p->result->dropped || !id) return VT_OK;
    if (2 * r->count >= r->size && !grow(r)) return VT_NO_MEMORY;
    uint64_t at = place_of(r, id);
    r->count += !r->ids[at];
    r->ids[at] = id;
    return VT_OK;
}

int vt_request_is_known(const struct pass *p, uint64_t id)
{
    const struct requests *r = &p->requests;
    return !p->result->dropped || !id || (r->size && r->ids[place_of(r, id)]);
}
