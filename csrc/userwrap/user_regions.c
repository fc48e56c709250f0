/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions and control of the user API: entry points that the macros of include/vt_user.h call, with VampirTrace's
   names. */
#include "userwrap.h"

VT_PUBLIC void VT_User_start2__(unsigned int id)
{
    uint32_t region = vt_user_begins(id);
    if (VT_LIKELY(region)) vt_write_few(VT_HEAD(VT_K_ENTER, 0, region), 0, 0, 0, 0, 1);
}

VT_PUBLIC void VT_User_end2__(unsigned int id)
{
    uint32_t region = vt_user_ends(id);
    if (VT_LIKELY(region)) vt_write_few(VT_HEAD(VT_K_LEAVE, 0, region), 0, 0, 0, 0, 1);
}

/* The first call defines where the region begins. */
static uint32_t define_region(const struct vt_user_key *key)
{
    int64_t limit = vt_call_limit(key->text[0], "User");
    if (!limit) return VT_USER_HIDDEN;
    uint32_t id = key->code ? vt_define_region_at(key->text[0], VT_PARADIGM_USER, VT_ROLE_FUNCTION, key->code)
                            : vt_define_region(key->text[0], VT_PARADIGM_USER, VT_ROLE_FUNCTION, key->file, key->line);
    return vt_user_limited(id, limit);
}

VT_PUBLIC unsigned int VT_User_region__(const char *name, const char *file, int line, unsigned int *site)
{
    const struct vt_user_key key = {
        .kind = VT_USER_REGION, .text = {name}, .file = file, .line = file && line > 0 ? (uint32_t)line : 0};
    uint32_t id = name ? vt_user_id(&key, define_region) : 0;
    if (site && id) VT_SET(*site, id);
    return id;
}

VT_PUBLIC void VT_User_start__(const char *name, const char *file, int line)
{
    VT_User_start2__(VT_User_region__(name, file, line, NULL));
}

VT_PUBLIC void VT_User_end__(const char *name) { VT_User_end2__(VT_User_region__(name, NULL, 0, NULL)); }

static uint32_t define_in_group(const struct vt_user_key *key)
{
    const char *file = key->text[2], *group = key->text[1];
    int64_t limit = vt_call_limit(key->text[0], group && *group ? group : "User");
    if (!limit) return VT_USER_HIDDEN;
    uint32_t id =
        key->code ? vt_define_region_at(key->text[0], VT_PARADIGM_USER, VT_ROLE_FUNCTION, key->code)
        : key->description
            ? vt_define_region_about(key->text[0], VT_PARADIGM_USER, VT_ROLE_FUNCTION, key->description)
            : vt_define_region(key->text[0], VT_PARADIGM_USER, VT_ROLE_FUNCTION, file, file ? key->number : 0);
    if (id && group && *group) vt_user_join(VT_D_REGION, id, group);
    return vt_user_limited(id, limit);
}

VT_PUBLIC unsigned int VT_User_def__(const char *name, const char *group, const char *file, int line)
{
    const struct vt_user_key key = {
        .kind = VT_USER_DEFINED, .number = line > 0 ? (uint32_t)line : 0, .text = {name, group, file}};
    return name ? vt_user_id(&key, define_in_group) : 0;
}

VT_PUBLIC unsigned int VT_User_def_about__(const char *name, const char *group, const char *description)
{
    const struct vt_user_key key = {.kind = VT_USER_DEFINED, .text = {name, group}, .description = description};
    return name ? vt_user_id(&key, define_in_group) : 0;
}

VT_PUBLIC unsigned int VT_User_region_at__(const char *name, const char *group, const void *code)
{
    const struct vt_user_key key = {
        .kind = group ? VT_USER_DEFINED : VT_USER_REGION, .text = {name, group}, .code = (uintptr_t)code - 1};
    return name ? vt_user_id(&key, group ? define_in_group : define_region) : 0;
}

/* ---- Control ---- */

VT_PUBLIC int VT_User_is_trace_on__(void) { return vt_is_on(); }
VT_PUBLIC void VT_User_trace_on__(void) { vt_switch(1); }
VT_PUBLIC void VT_User_trace_off__(void) { vt_switch(0); }
VT_PUBLIC void VT_User_functions__(const char *patterns) { vt_select_functions(patterns); }
VT_PUBLIC void VT_User_buffer_flush__(void) { vt_flush(); }

VT_PUBLIC void VT_User_set_rewind_mark__(void)
{
    struct vt_location *l = vt_location_to_record(0);
    if (l) vt_set_rewind_mark(l);
}

VT_PUBLIC void VT_User_rewind__(void)
{
    struct vt_location *l = vt_location_to_record(0);
    if (l) vt_rewind(l);
}

/* Hardware counters are not recorded, so there is nothing to read. */
VT_PUBLIC void VT_User_update_counter__(void) {}

VT_PUBLIC void VT_User_timesync__(void)
{
    struct vt_location *l = vt_location_of_thread(0);
    if (l) vt_synchronize(l);
}
