/* SPDX-License-Identifier: BSD-3-Clause */
/* Places in the table of functions (struct _cl_icd_dispatch of CL/cl_icd.h), which new versions only extend.
   tests/programs/opencl_layouts.c compares them with the header. */
/* clang-format off */
#define VT_CL_ENTRIES(X)                                                                                               \
    X(clGetDeviceInfo, 3) X(clCreateCommandQueue, 9) X(clRetainCommandQueue, 10) X(clReleaseCommandQueue, 11)          \
    X(clGetCommandQueueInfo, 12) X(clGetMemObjectInfo, 20) X(clGetImageInfo, 21) X(clBuildProgram, 30)                 \
    X(clGetKernelInfo, 39) X(clWaitForEvents, 41) X(clGetEventInfo, 42) X(clRetainEvent, 43) X(clReleaseEvent, 44)     \
    X(clGetEventProfilingInfo, 45) X(clFlush, 46) X(clFinish, 47) X(clEnqueueReadBuffer, 48)                           \
    X(clEnqueueWriteBuffer, 49) X(clEnqueueCopyBuffer, 50) X(clEnqueueReadImage, 51) X(clEnqueueWriteImage, 52)        \
    X(clEnqueueCopyImage, 53) X(clEnqueueCopyImageToBuffer, 54) X(clEnqueueCopyBufferToImage, 55)                      \
    X(clEnqueueMapBuffer, 56) X(clEnqueueMapImage, 57) X(clEnqueueUnmapMemObject, 58) X(clEnqueueNDRangeKernel, 59)    \
    X(clEnqueueTask, 60) X(clEnqueueNativeKernel, 61) X(clEnqueueMarker, 62) X(clEnqueueWaitForEvents, 63)             \
    X(clEnqueueBarrier, 64) X(clEnqueueReadBufferRect, 86) X(clEnqueueWriteBufferRect, 87)                             \
    X(clEnqueueCopyBufferRect, 88) X(clCompileProgram, 98) X(clLinkProgram, 99) X(clEnqueueFillBuffer, 102)            \
    X(clEnqueueFillImage, 103) X(clEnqueueMigrateMemObjects, 104) X(clEnqueueMarkerWithWaitList, 105)                  \
    X(clEnqueueBarrierWithWaitList, 106) X(clCreateCommandQueueWithProperties, 123) X(clEnqueueSVMFree, 128)           \
    X(clEnqueueSVMMemcpy, 129) X(clEnqueueSVMMemFill, 130) X(clEnqueueSVMMap, 131) X(clEnqueueSVMUnmap, 132)           \
    X(clEnqueueSVMMigrateMem, 139) X(clGetDeviceAndHostTimer, 140)
#define VT_CL_TABLE 149 /* entries of the table in OpenCL 3.0 */
/* clang-format on */
