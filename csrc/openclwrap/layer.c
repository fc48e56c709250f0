/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions by which a loader of OpenCL adds a layer (CL/cl_layer.h). Newer loaders call
   clInitLayerWithProperties, older ones clInitLayer. */
#include <string.h>
#include "openclwrap.h"

enum { CL_LAYER_API_VERSION = 0x4240, CL_LAYER_NAME = 0x4241, CL_LAYER_API_VERSION_100 = 100 };

const struct vt_device_api vt_device_api = {"OpenCL", "OPENCL", 19 /* OTF2_PARADIGM_OPENCL */, "OPENCL_WINDOW"};
vt_cl_function *vt_cl_next[VT_CL_TABLE];

int vt_cl_records(void)
{
    enum { NEW, ATTACHING, RECORDS, PASSIVE };
    static _Atomic int state = NEW;
    const int is = atomic_load_explicit(&state, memory_order_relaxed);
    if (is != NEW) return is == RECORDS;
    int expected = NEW;
    if (!atomic_compare_exchange_strong(&state, &expected, ATTACHING)) return 0;
    const struct vt_shim shim = {.size = sizeof shim, .abi = VT_ABI, .name = "OpenCL", .version = VT_VERSION};
    const int records = vt_attach(&shim);
    vt_device_clock_start();
    atomic_store(&state, records ? RECORDS : PASSIVE);
    return records;
}

uint32_t vt_cl_function_region(struct vt_device_named *function)
{
    return vt_cl_records() ? vt_device_function_region(function) : 0;
}

VT_EXPORTED cl_int clGetLayerInfo(cl_uint what, size_t bytes, void *value, size_t *used)
{
    static const cl_uint version = CL_LAYER_API_VERSION_100;
    static const char name[] = "vtrace";
    const void *from = what == CL_LAYER_API_VERSION ? (const void *)&version : name;
    const size_t size = what == CL_LAYER_API_VERSION ? sizeof version : sizeof name;
    if ((what != CL_LAYER_API_VERSION && what != CL_LAYER_NAME) || (value && bytes < size)) return CL_INVALID_VALUE;
    if (value) memcpy(value, from, size);
    if (used) *used = size;
    return CL_SUCCESS;
}

/* The table has all entries of the loader's, which may be newer and longer. */
VT_EXPORTED cl_int clInitLayer(cl_uint entries, vt_cl_function *const *target, cl_uint *own_entries,
                               vt_cl_function *const **own)
{
    if (!target || !own_entries || !own) return CL_INVALID_VALUE;
    const cl_uint known = entries < VT_CL_TABLE ? entries : VT_CL_TABLE;
    vt_cl_function **table = vt_pages((entries < VT_CL_TABLE ? VT_CL_TABLE : entries) * sizeof *table);
    if (!table) return CL_INVALID_VALUE;
    memcpy(vt_cl_next, target, known * sizeof *target);
    memcpy(table, target, entries * sizeof *target);
    vt_cl_set_calls(table);
    *own_entries = entries;
    *own = table;
    return CL_SUCCESS;
}

VT_EXPORTED cl_int clInitLayerWithProperties(cl_uint entries, vt_cl_function *const *target, cl_uint *own_entries,
                                             vt_cl_function *const **own, const void *properties)
{
    (void)properties;
    return clInitLayer(entries, target, own_entries, own);
}

/* Loaders call it in a destructor, when drivers may be gone. */
VT_EXPORTED cl_int clDeinitLayer(void) { return CL_SUCCESS; }
