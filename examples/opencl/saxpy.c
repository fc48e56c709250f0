/* SPDX-License-Identifier: BSD-3-Clause */
/* y = a x + y on the first device of OpenCL, in ROUNDS rounds: copies to the device, a kernel, a copy back. The program
   waits after each round, so the device idles while the host sums up. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1 << 20, ROUNDS = 20 };

static void check(cl_int code, const char *what)
{
    if (code == CL_SUCCESS) return;
    fprintf(stderr, "%s: error %d\n", what, code);
    exit(1);
}

static const char *source = "kernel void saxpy(float a, global const float *x, global float *y)"
                            "{ size_t i = get_global_id(0); y[i] += a * x[i]; }";

int main(void)
{
    static float x[N], y[N];
    const size_t items = N;
    const float a = 2;
    cl_platform_id platform;
    cl_device_id device;
    cl_int code;
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    check(code, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    check(code, "clCreateCommandQueue");
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
    check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    cl_kernel saxpy = clCreateKernel(program, "saxpy", &code);
    check(code, "clCreateKernel");
    cl_mem of_x = clCreateBuffer(context, CL_MEM_READ_ONLY, sizeof x, NULL, &code);
    cl_mem of_y = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof y, NULL, &code);
    check(clSetKernelArg(saxpy, 0, sizeof a, &a) | clSetKernelArg(saxpy, 1, sizeof of_x, &of_x) |
              clSetKernelArg(saxpy, 2, sizeof of_y, &of_y),
          "clSetKernelArg");
    double sum = 0;
    for (int i = 0; i < N; i++) x[i] = 1;
    for (int round = 0; round < ROUNDS; round++) {
        check(clEnqueueWriteBuffer(queue, of_x, CL_FALSE, 0, sizeof x, x, 0, NULL, NULL), "clEnqueueWriteBuffer");
        check(clEnqueueWriteBuffer(queue, of_y, CL_FALSE, 0, sizeof y, y, 0, NULL, NULL), "clEnqueueWriteBuffer");
        check(clEnqueueNDRangeKernel(queue, saxpy, 1, NULL, &items, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
        check(clEnqueueReadBuffer(queue, of_y, CL_TRUE, 0, sizeof y, y, 0, NULL, NULL), "clEnqueueReadBuffer");
        sum = 0;
        for (int i = 0; i < N; i++) sum += y[i];
    }
    printf("sum %.0f, expected %.0f\n", sum, 2.0 * N * ROUNDS);
    check(clFinish(queue), "clFinish");
    return sum == 2.0 * N * ROUNDS ? 0 : 1;
}
