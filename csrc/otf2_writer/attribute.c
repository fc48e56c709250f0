/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes of events: libotf2 accepts an event together with a list of attributes. */
#include "pass.h"

static int is_number(uint8_t type) { return type >= VT_OTF2_TYPE_UINT8 && type <= VT_OTF2_TYPE_DOUBLE; }

static int32_t add_number(OTF2_AttributeList *list, uint32_t id, uint8_t type, uint64_t value)
{
    union {
        uint64_t word;
        float low;
        double whole;
    } real = {value};
    switch (type) {
    case VT_OTF2_TYPE_UINT8: return vt_otf2.AttributeList_AddUint8(list, id, (uint8_t)value);
    case VT_OTF2_TYPE_UINT16: return vt_otf2.AttributeList_AddUint16(list, id, (uint16_t)value);
    case VT_OTF2_TYPE_UINT32: return vt_otf2.AttributeList_AddUint32(list, id, (uint32_t)value);
    case VT_OTF2_TYPE_UINT64: return vt_otf2.AttributeList_AddUint64(list, id, value);
    case VT_OTF2_TYPE_INT8: return vt_otf2.AttributeList_AddInt8(list, id, (int8_t)value);
    case VT_OTF2_TYPE_INT16: return vt_otf2.AttributeList_AddInt16(list, id, (int16_t)value);
    case VT_OTF2_TYPE_INT32: return vt_otf2.AttributeList_AddInt32(list, id, (int32_t)value);
    case VT_OTF2_TYPE_INT64: return vt_otf2.AttributeList_AddInt64(list, id, (int64_t)value);
    case VT_OTF2_TYPE_FLOAT: return vt_otf2.AttributeList_AddFloat(list, id, real.low);
    default: return vt_otf2.AttributeList_AddDouble(list, id, real.whole);
    }
}

static int32_t add_reference(OTF2_AttributeList *list, uint32_t id, uint8_t type, uint32_t global)
{
    switch (type) {
    case VT_OTF2_TYPE_STRING: return vt_otf2.AttributeList_AddStringRef(list, id, global);
    case VT_OTF2_TYPE_REGION: return vt_otf2.AttributeList_AddRegionRef(list, id, global);
    case VT_OTF2_TYPE_COMM: return vt_otf2.AttributeList_AddCommRef(list, id, global);
    case VT_OTF2_TYPE_RMA_WIN: return vt_otf2.AttributeList_AddRmaWinRef(list, id, global);
    case VT_OTF2_TYPE_IO_FILE: return vt_otf2.AttributeList_AddIoFileRef(list, id, global);
    default: return vt_otf2.AttributeList_AddIoHandleRef(list, id, global);
    }
}

/* Maps the id in a value of this type to an id of OTF2. */
static uint32_t referred(struct pass *p, uint8_t type, uint64_t id)
{
    const struct vt_maps *m = p->maps;
    switch (type) {
    case VT_OTF2_TYPE_STRING: return mapped(p, m->strings, m->nstrings, id);
    case VT_OTF2_TYPE_REGION: return mapped(p, m->regions, m->nregions, id);
    case VT_OTF2_TYPE_COMM: return mapped(p, m->comms, m->ncomms, id);
    case VT_OTF2_TYPE_RMA_WIN: return mapped(p, m->windows, m->nwindows, id);
    case VT_OTF2_TYPE_IO_FILE: return mapped(p, m->files, m->nfiles, id);
    case VT_OTF2_TYPE_IO_HANDLE: return mapped(p, m->handles, m->nhandles, id);
    default: return mapped(p, NULL, 0, id);
    }
}

/* Returns 1 if the next event can take the attribute: libotf2 takes each attribute once. */
static int free_for(struct pass *p, uint32_t id)
{
    for (uint32_t i = 0; i < p->nattributes; i++)
        if (p->attribute_ids[i] == id) return 0;
    return p->nattributes < ATTRIBUTES_MAX;
}

static int keep(struct pass *p, uint32_t id, uint8_t type, uint64_t value)
{
    if (!free_for(p, id)) {
        p->result->unmapped++;
        return VT_OK;
    }
    if (!p->list) p->list = vt_otf2.AttributeList_New();
    if (!p->list) return VT_NO_MEMORY;
    p->attributes = p->list;
    p->attribute_ids[p->nattributes++] = id;
    int32_t code =
        is_number(type) ? add_number(p->list, id, type, value) : add_reference(p->list, id, type, (uint32_t)value);
    return code ? vt_refused(p->error, code) : VT_OK;
}

int vt_attribute_uint64(struct pass *p, uint32_t id, uint64_t value) { return keep(p, id, VT_OTF2_TYPE_UINT64, value); }

int vt_attribute(struct pass *p, uint32_t what, uint64_t value)
{
    uint32_t id = mapped(p, p->maps->attributes, p->maps->nattributes, VT_ID(what));
    if (id == VT_UNMAPPED) return VT_OK;
    uint8_t type = p->maps->attribute_types[VT_ID(what)];
    if (is_number(type)) return keep(p, id, type, value);
    uint32_t global = referred(p, type, value);
    return global == VT_UNMAPPED ? VT_OK : keep(p, id, type, global);
}

/* ---- Score-P's attributes of the functions of the heap ---- */

static int heap(struct pass *p, enum vt_heap_attribute which, uint64_t value)
{
    uint32_t first = p->maps->heap_attributes;
    return first == VT_UNMAPPED ? VT_OK : vt_attribute_uint64(p, first + which, value);
}

int vt_heap_enter(struct pass *p, uint32_t what, const uint64_t *w)
{
    int code = VT_OK, again = VT_KIND(what) == VT_K_ENTER_REALLOC;
    if (VT_KIND(what) == VT_K_ENTER_ALLOC) return heap(p, VT_ALLOCATION_SIZE, w[0]);
    if (w[0]) {
        code = heap(p, VT_ARGUMENT_ADDRESS, w[0]);
        p->freed.key = ENTER_KEY | VT_ID(what);
        p->freed.depth = p->depth + 1;
        p->freed.bytes = w[1];
        p->freed.if_null = !again || !w[2];
    }
    return again && !code ? heap(p, VT_ALLOCATION_SIZE, w[2]) : code;
}

int vt_heap_leave(struct pass *p, uint32_t what, uint64_t address)
{
    int code = VT_KIND(what) == VT_K_LEAVE_ALLOC ? heap(p, VT_RESULT_ADDRESS, address) : VT_OK;
    if (code || p->freed.depth != p->depth || p->freed.key != (ENTER_KEY | VT_ID(what))) return code;
    p->freed.depth = 0;
    return address || p->freed.if_null ? heap(p, VT_DEALLOCATION_SIZE, p->freed.bytes) : VT_OK;
}

void vt_attributes_end(struct pass *p)
{
    if (p->attributes) vt_otf2.AttributeList_RemoveAllAttributes(p->list);
    p->attributes = NULL;
    p->nattributes = 0;
}
