/* SPDX-License-Identifier: BSD-3-Clause */
/* A program for a GPU: cuda_real N. N rounds on each of two streams, with counts and bytes in closed form, then N launches
   of a graph of three kernels. */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        const cudaError_t error = (call);                                                                              \
        if (error != cudaSuccess) {                                                                                    \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));                                             \
            exit(2);                                                                                                   \
        }                                                                                                              \
    } while (0)

enum { WORDS = 1 << 20, BYTES = WORDS * 4 };

__global__ void scale(float *x, float by)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < WORDS) x[i] *= by;
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 10;
    float *host, *device[2];
    cudaStream_t streams[2];
    CHECK(cudaMallocHost(&host, BYTES));
    for (int i = 0; i < WORDS; i++) host[i] = 1;
    for (int s = 0; s < 2; s++) {
        CHECK(cudaMalloc(&device[s], BYTES));
        CHECK(cudaStreamCreate(&streams[s]));
    }
    for (int i = 0; i < n; i++)
        for (int s = 0; s < 2; s++) {
            CHECK(cudaMemsetAsync(device[s], 0, BYTES / 2, streams[s]));
            CHECK(cudaMemcpyAsync(device[s], host, BYTES, cudaMemcpyHostToDevice, streams[s]));
            scale<<<WORDS / 256, 256, 0, streams[s]>>>(device[s], 2);
            CHECK(cudaMemcpyAsync(host, device[s], BYTES / 4, cudaMemcpyDeviceToHost, streams[s]));
        }
    CHECK(cudaDeviceSynchronize());
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CHECK(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
    for (int k = 0; k < 3; k++) scale<<<WORDS / 256, 256, 0, streams[0]>>>(device[0], 2);
    CHECK(cudaStreamEndCapture(streams[0], &graph));
    CHECK(cudaGraphInstantiateWithFlags(&executable, graph, 0));
    for (int i = 0; i < n; i++) CHECK(cudaGraphLaunch(executable, streams[0]));
    CHECK(cudaDeviceSynchronize());
    printf("done\n");
    return 3;
}
