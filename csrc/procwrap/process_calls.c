/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of calls that concern processes: a region, with the program, the process and the error as attributes. */
#define _GNU_SOURCE
#include "procwrap.h"

static _Atomic uint32_t program, child, reason;

uint32_t vt_begin_process(struct vt_call *c, const char *path, int starts)
{
    int saved = errno;
    uint64_t words[3];
    uint32_t text = 0, attribute = 0;
    if (vt_shares_memory() || (!starts && !vt_is_recording())) return 0;
    uint32_t region = vt_call_region(c);
    if (region && path) {
        attribute = vt_attribute_id(&program, "program", "Path of the program", VT_TYPE_STRING);
        if (attribute) text = vt_define_text(path);
    }
    if (region && text) {
        words[0] = VT_HEAD(VT_K_ATTRIBUTE, 1, attribute);
        words[1] = text;
        words[2] = VT_HEAD(VT_K_ENTER, 0, region);
        vt_write(words, 3);
    } else if (region) vt_enter(region);
    errno = saved;
    return region;
}

void vt_end_process(uint32_t region, int64_t process, int error)
{
    int saved = errno;
    uint32_t attribute = 0;
    if (!region) return;
    if (error) attribute = vt_attribute_id(&reason, "errno", "Reason why the call failed (errno(3))", VT_TYPE_INT32);
    else if (process > 0) attribute = vt_attribute_id(&child, "process", "Number of the process", VT_TYPE_INT64);
    if (attribute)
        vt_write_3(VT_HEAD(VT_K_ATTRIBUTE, 1, attribute), error ? (uint64_t)error : (uint64_t)process,
                   VT_HEAD(VT_K_LEAVE, 0, region));
    else vt_leave(region);
    errno = saved;
}
