/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters, markers, comments and messages of the user API. */
#include <string.h>
#include "../core/process.h"
#include "../include/vt_user.h"
#include "userwrap.h"

#define TEXT_MOST 32768u

#define TYPE(name) name = VT_COUNT_TYPE_##name
enum value_type {
    /* clang-format off */
    TYPE(SIGNED), TYPE(UNSIGNED), TYPE(FLOAT), TYPE(DOUBLE), TYPE(INTEGER), TYPE(INTEGER8), TYPE(REAL)
    /* clang-format on */
};

#define SAME_MARKER(name, number) _Static_assert(VT_MARKER_TYPE_##name == (number), "vt_user.h and format.h differ");
VT_MARKERS(SAME_MARKER)

/* ---- Definitions ---- */

void vt_user_join(enum vt_definition what, uint32_t id, const char *group)
{
    vt_define(VT_D_MEMBER, vt_number(what), vt_number(id), vt_string(group));
}

/* Writes [number, id, text], or [number, id, text, more] if more is not 0. Returns the id; 0: not written. */
static uint32_t define_text(enum vt_id kind, enum vt_definition number, const char *text, uint32_t more)
{
    struct vt_location *l = vt_location_of_thread(0);
    uint64_t id = l ? vt_new_id(kind) : 0;
    if (!id) {
        if (l) vt_warn("more than %u texts in the user API: further texts are recorded as ?", VT_ID_MAX);
        return 0;
    }
    const struct vt_definition_value values[] = {vt_kind(number, more ? 3 : 2), vt_number(id),
                                                 vt_string_of(text, TEXT_MOST), vt_number(more)};
    return vt_define_values_at(l, values, more ? 4 : 3) ? (uint32_t)id : 0;
}

/* ---- Counters. The program gets type << 24 | metric as their id ---- */

#define GROUPS 512u
#define GROUP_BYTES 128u
static _Atomic uint32_t groups;
static char group_names[GROUPS][GROUP_BYTES]; /* by id */

static uint32_t define_group(const struct vt_user_key *key)
{
    uint32_t id = atomic_fetch_add(&groups, 1) + 1;
    if (id >= GROUPS) {
        vt_warn("more than %u groups of counters: counters of further groups are in the group User", GROUPS - 1);
        return 0;
    }
    memcpy(group_names[id], key->text[0], strnlen(key->text[0], GROUP_BYTES - 1));
    return id;
}

VT_PUBLIC unsigned int VT_User_count_group_def__(const char *name)
{
    const struct vt_user_key key = {.kind = VT_USER_GROUP, .text = {name}};
    return name ? vt_user_id(&key, define_group) : 0;
}

static uint32_t define_counter(const struct vt_user_key *key)
{
    struct vt_location *l = vt_location_of_thread(0);
    uint32_t type = key->number;
    uint64_t id = l ? vt_new_id(VT_ID_METRIC) : 0;
    if (!id) return 0;
    if (!vt_define_at(l, VT_D_METRIC, vt_number(id), vt_string(key->text[0]),
                      vt_string(*key->text[1] ? key->text[1] : "#"),
                      vt_string(type == SIGNED     ? "i"
                                : type == UNSIGNED ? "u"
                                                   : "f"),
                      vt_string("n"), vt_bool(0)))
        return 0;
    vt_user_join(VT_D_METRIC, (uint32_t)id, key->text[2]);
    vt_trigger_counter((uint32_t)id, key->text[0], type == SIGNED ? 'i' : type == UNSIGNED ? 'u' : 'f');
    return type << 24 | (uint32_t)id;
}

VT_PUBLIC unsigned int VT_User_count_def__(const char *name, const char *unit, int type, unsigned int group)
{
    const char *in = group && group < GROUPS && *group_names[group] ? group_names[group] : NULL;
    struct vt_user_key key = {
        .kind = VT_USER_COUNTER, .number = DOUBLE, .text = {name, unit ? unit : "", in ? in : "User"}};
    if (!name) return 0;
    if (type == UNSIGNED) key.number = UNSIGNED;
    else if (type == SIGNED || type == INTEGER || type == INTEGER8) key.number = SIGNED;
    else if (type != FLOAT && type != DOUBLE && type != REAL) {
        vt_warn_left_out("metrics", "counter %.60s is not recorded: VT_COUNT_DEF has no type %d", name, type);
        return 0;
    }
    return vt_user_id(&key, define_counter);
}

static void record(unsigned int id, uint64_t word)
{
    uint32_t type = id >> 24, metric = id & ((1u << 24) - 1);
    if (VT_UNLIKELY(type < SIGNED || type > DOUBLE || !metric || !vt_user_is_defined(VT_ID_METRIC, metric)))
        VT_USER_UNDEFINED("metrics", "counter", id);
    else vt_write_few(VT_HEAD(VT_K_METRIC, 1, metric), word, 0, 0, 0, 2);
}

static void record_real(unsigned int id, double value)
{
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    record(id, word);
}

/* A double as an integer; a value out of range becomes the nearest one. */
static uint64_t whole(unsigned int type, double value)
{
    if (type == UNSIGNED) return value >= 0x1p64 ? UINT64_MAX : value > 0 ? (uint64_t)value : 0;
    if (value >= 0x1p63) return INT64_MAX;
    return value > -0x1p63 ? (uint64_t)(int64_t)value : value <= -0x1p63 ? (uint64_t)INT64_MIN : 0;
}

VT_PUBLIC void VT_User_count_signed_val__(unsigned int id, int64_t value)
{
    if (id >> 24 == DOUBLE) record_real(id, (double)value);
    else if (id) record(id, (uint64_t)value);
}

VT_PUBLIC void VT_User_count_unsigned_val__(unsigned int id, uint64_t value)
{
    if (id >> 24 == DOUBLE) record_real(id, (double)value);
    else if (id) record(id, value);
}

VT_PUBLIC void VT_User_count_double_val__(unsigned int id, double value)
{
    if (id >> 24 == DOUBLE) record_real(id, value);
    else if (id) record(id, whole(id >> 24, value));
}

VT_PUBLIC void VT_User_count_float_val__(unsigned int id, float value)
{
    VT_User_count_double_val__(id, (double)value);
}

/* ---- Markers and comments ---- */

static uint32_t define_marker(const struct vt_user_key *key)
{
    return define_text(VT_ID_MARKER, VT_D_MARKER, key->text[0], key->number);
}

VT_PUBLIC unsigned int VT_User_marker_def__(const char *name, int type)
{
    int known = type >= VT_MARKER_ERROR && type <= VT_MARKER_HINT;
    const struct vt_user_key key = {
        .kind = VT_USER_MARKER, .number = known ? (uint32_t)type : VT_MARKER_HINT, .text = {name}};
    return name ? vt_user_id(&key, define_marker) : 0;
}

static uint32_t define_plain(const struct vt_user_key *key)
{
    return define_text(VT_ID_TEXT, VT_D_TEXT, key->text[0], 0);
}

static uint32_t text_id(const char *text)
{
    const struct vt_user_key key = {.kind = VT_USER_TEXT, .text = {text}};
    return strnlen(text, 1024) < 1024 ? vt_user_id(&key, define_plain) : define_plain(&key);
}

VT_PUBLIC uint32_t VT_User_text__(const char *text) { return text_id(text); }

VT_PUBLIC void VT_User_marker__(unsigned int id, const char *text)
{
    if (!id || !text || !vt_is_on()) return;
    if (vt_user_is_defined(VT_ID_MARKER, id)) vt_write_2(VT_HEAD(VT_K_MARKER, 1, id), text_id(text));
    else VT_USER_UNDEFINED("user", "marker", id);
}

VT_PUBLIC void VT_User_comment__(const char *text)
{
    if (text && vt_is_on()) vt_write_2(VT_HEAD(VT_K_COMMENT, 1, 0), text_id(text));
}

VT_PUBLIC void VT_User_comment_def__(const char *text)
{
    if (text) vt_define(VT_D_NOTE, vt_string_of(text, TEXT_MOST));
}

/* ---- Messages ---- */

static uint32_t define_comm(const struct vt_user_key *key)
{
    return define_text(VT_ID_USER_COMM, VT_D_USER_COMM, key->text[0], 0);
}

VT_PUBLIC unsigned int VT_User_msg_comm_def__(const char *name)
{
    const struct vt_user_key key = {.kind = VT_USER_COMM, .text = {name}};
    return name ? vt_user_id(&key, define_comm) : 0;
}

static void message(enum vt_kind kind, unsigned int comm, unsigned int tag, unsigned int bytes)
{
    if (comm == (unsigned int)-1) comm = VT_User_msg_comm_def__("User messages");
    if (!comm) return;
    if (vt_user_is_defined(VT_ID_USER_COMM, comm)) vt_write_3(VT_HEAD(kind, 2, comm), tag, bytes);
    else VT_USER_UNDEFINED("user", "communicator", comm);
}

VT_PUBLIC void VT_User_msg_send__(unsigned int comm, unsigned int tag, unsigned int bytes)
{
    message(VT_K_USER_SEND, comm, tag, bytes);
}

VT_PUBLIC void VT_User_msg_recv__(unsigned int comm, unsigned int tag, unsigned int bytes)
{
    message(VT_K_USER_RECV, comm, tag, bytes);
}
