/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands of OpenCL with counts in closed form:  opencl_calls HOW [ROUNDS]
     order      a queue in order, ROUNDS times: write 4096, kernel `scale`, copy 2048, read 1024 bytes; one map of 512
     overlap    a queue without order: ROUNDS kernels `spin`, which wait for nothing
     profile    what a program sees of a queue's properties and of an event's times, on standard output
     unfinished a kernel that waits for an event of the program, which never comes
     kill       as order; then SIGKILL
     fork       the parent and its child, which creates its own objects, as order each
     threads    4 threads with a queue each, as order
     queues     ROUNDS queues one after the other, as order with one round each */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

#define BYTES 4096

static cl_context context;
static cl_device_id device;
static cl_kernel scale, spin;
static pthread_barrier_t all; /* of the threads, once each has its queue */
static int threaded;

static void check(cl_int code, const char *what)
{
    if (code == CL_SUCCESS) return;
    fprintf(stderr, "%s: %d\n", what, code);
    exit(3);
}

static cl_kernel kernel(const char *name)
{
    static const char *source = "kernel void scale(global float *x) { x[get_global_id(0)] *= 2; }"
                                "kernel void spin(global float *x, int n) { float y = x[get_global_id(0)];"
                                " for (int i = 0; i < n; i++) y = y * 1.0001f + 1; x[get_global_id(0)] = y; }";
    static cl_program program;
    cl_int code;
    if (!program) {
        program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
        check(code, "program");
        check(clBuildProgram(program, 1, &device, "", NULL, NULL), "build");
    }
    cl_kernel made = clCreateKernel(program, name, &code);
    check(code, name);
    return made;
}

static void begin(void)
{
    cl_platform_id platforms[8];
    cl_uint n = 0;
    cl_int code;
    check(clGetPlatformIDs(8, platforms, &n), "platforms");
    check(clGetDeviceIDs(platforms[0], CL_DEVICE_TYPE_ALL, 1, &device, NULL), "devices");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    check(code, "context");
    scale = kernel("scale");
    spin = kernel("spin");
}

static cl_command_queue queue_with(cl_command_queue_properties bits)
{
    cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, bits, 0};
    cl_int code;
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, bits ? properties : NULL, &code);
    check(code, "queue");
    return queue;
}

static cl_mem buffer(void)
{
    cl_int code;
    cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &code);
    check(code, "buffer");
    return made;
}

static void in_order(int rounds)
{
    cl_command_queue queue = queue_with(0);
    if (threaded) pthread_barrier_wait(&all);
    cl_mem from = buffer(), to = buffer();
    cl_kernel mine = kernel("scale");
    float data[BYTES / sizeof(float)];
    const size_t items = BYTES / sizeof(float);
    cl_int code;
    for (size_t i = 0; i < items; i++) data[i] = (float)i;
    check(clSetKernelArg(mine, 0, sizeof from, &from), "argument");
    for (int i = 0; i < rounds; i++) {
        check(clEnqueueWriteBuffer(queue, from, CL_FALSE, 0, BYTES, data, 0, NULL, NULL), "write");
        check(clEnqueueNDRangeKernel(queue, mine, 1, NULL, &items, NULL, 0, NULL, NULL), "scale");
        check(clEnqueueCopyBuffer(queue, from, to, 0, 0, BYTES / 2, 0, NULL, NULL), "copy");
        check(clEnqueueReadBuffer(queue, to, CL_TRUE, 0, BYTES / 4, data, 0, NULL, NULL), "read");
    }
    void *mapped = clEnqueueMapBuffer(queue, to, CL_TRUE, CL_MAP_READ, 0, BYTES / 8, 0, NULL, NULL, &code);
    check(code, "map");
    check(clEnqueueUnmapMemObject(queue, to, mapped, 0, NULL, NULL), "unmap");
    check(clFinish(queue), "finish");
    check(clReleaseMemObject(from) | clReleaseMemObject(to) | clReleaseCommandQueue(queue), "release");
    check(clReleaseKernel(mine), "release");
}

static void out_of_order(int rounds)
{
    cl_command_queue queue = queue_with(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_mem data = buffer();
    const size_t items = 4;
    const cl_int turns = 3000000;
    check(clSetKernelArg(spin, 0, sizeof data, &data) | clSetKernelArg(spin, 1, sizeof turns, &turns), "argument");
    for (int i = 0; i < rounds; i++)
        check(clEnqueueNDRangeKernel(queue, spin, 1, NULL, &items, &items, 0, NULL, NULL), "spin");
    check(clFinish(queue) | clReleaseCommandQueue(queue), "finish");
}

static void show_profiling(cl_command_queue_properties bits)
{
    cl_command_queue queue = queue_with(bits);
    cl_mem data = buffer();
    cl_event event;
    cl_ulong start = 0, end = 0;
    cl_command_queue_properties seen = 0;
    cl_queue_properties array[16] = {0};
    size_t used = 99;
    const cl_int value = 7;
    check(clEnqueueFillBuffer(queue, data, &value, sizeof value, 0, BYTES, 0, NULL, &event), "fill");
    check(clWaitForEvents(1, &event), "wait");
    const cl_int code = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL);
    clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof seen, &seen, NULL);
    clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof array, array, &used);
    printf("asked %d: code %d, times %d, properties %d, array of %zu\n", (int)bits, code, end > start, (int)seen, used);
    check(clReleaseEvent(event) | clReleaseCommandQueue(queue), "release");
}

static void unfinished(void)
{
    cl_command_queue queue = queue_with(0);
    cl_int code;
    cl_event never = clCreateUserEvent(context, &code);
    cl_mem data = buffer();
    const size_t items = 4;
    check(clSetKernelArg(scale, 0, sizeof data, &data), "argument");
    check(clEnqueueNDRangeKernel(queue, scale, 1, NULL, &items, NULL, 0, NULL, NULL), "first");
    check(clFinish(queue), "finish");
    check(clEnqueueNDRangeKernel(queue, scale, 1, NULL, &items, NULL, 1, &never, NULL), "second");
    check(clFlush(queue), "flush");
    fflush(NULL);
    exit(0);
}

static void *thread(void *rounds)
{
    in_order(*(int *)rounds);
    return NULL;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "order";
    int rounds = argc > 2 ? atoi(argv[2]) : 10;
#ifdef WITH_MPI
    MPI_Init(&argc, &argv);
#endif
    if (!strcmp(how, "fork")) {
        if (!fork()) {
            begin();
            in_order(rounds);
            return 0;
        }
        int status = 0;
        wait(&status);
        if (status) return 4;
    }
    begin();
    if (!strcmp(how, "overlap")) out_of_order(rounds);
    else if (!strcmp(how, "profile")) {
        show_profiling(0);
        show_profiling(CL_QUEUE_PROFILING_ENABLE);
    } else if (!strcmp(how, "unfinished")) unfinished();
    else if (!strcmp(how, "threads")) {
        pthread_t threads[4];
        threaded = 1;
        pthread_barrier_init(&all, NULL, 4);
        for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, thread, &rounds);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    } else if (!strcmp(how, "queues"))
        for (int i = 0; i < rounds; i++) in_order(1);
    else in_order(rounds);
    if (!strcmp(how, "kill")) raise(SIGKILL);
#ifdef WITH_MPI
    MPI_Finalize();
#endif
    return 0;
}
