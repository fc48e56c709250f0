/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares the places and numbers that csrc/openclwrap states with those of OpenCL's headers. Exit code 0: they agree. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>
#include <stddef.h>
#include <stdio.h>
#include ENTRIES

#define SAME(number, expected) _Static_assert((number) == (expected), #number)
SAME(CL_QUEUE_PROPERTIES, 0x1093);
SAME(CL_QUEUE_PROPERTIES_ARRAY, 0x1098);
SAME(CL_QUEUE_DEVICE, 0x1091);
SAME(CL_QUEUE_PROFILING_ENABLE, 2);
SAME(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 1);
SAME(CL_QUEUE_ON_DEVICE, 4);
SAME(CL_DEVICE_NAME, 0x102B);
SAME(CL_IMAGE_ELEMENT_SIZE, 0x1111);
SAME(CL_MEM_SIZE, 0x1102);
SAME(CL_KERNEL_FUNCTION_NAME, 0x1190);
SAME(CL_EVENT_COMMAND_QUEUE, 0x11D0);
SAME(CL_EVENT_COMMAND_EXECUTION_STATUS, 0x11D3);
SAME(CL_PROFILING_COMMAND_QUEUED, 0x1280);
SAME(CL_PROFILING_COMMAND_END, 0x1283);
SAME(CL_LAYER_API_VERSION, 0x4240);
SAME(CL_LAYER_NAME, 0x4241);
SAME(CL_LAYER_API_VERSION_100, 100);
SAME(CL_PROFILING_INFO_NOT_AVAILABLE, -7);
SAME(CL_INVALID_VALUE, -30);

int main(void)
{
    int wrong = 0;
#define PLACE(name, place)                                                                                             \
    if (offsetof(struct _cl_icd_dispatch, name) != (place) * sizeof(void *)) {                                         \
        wrong++;                                                                                                       \
        printf("%s is entry %zu\n", #name, offsetof(struct _cl_icd_dispatch, name) / sizeof(void *));                  \
    }
    VT_CL_ENTRIES(PLACE)
    if (sizeof(struct _cl_icd_dispatch) < VT_CL_TABLE * sizeof(void *)) wrong++;
    return wrong;
}
