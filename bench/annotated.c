/* SPDX-License-Identifier: BSD-3-Clause */
/* annotated CALLS PASSES: a region of the user API, then a push and pop of NVTX with a registered string, around nothing.
   Prints the ns per call of both, for each pass. */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "vt_user.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

__attribute__((noinline)) static void user(void)
{
    VT_USER_START("user");
    __asm__ volatile("" ::: "memory");
    VT_USER_END("user");
}

__attribute__((noinline)) static void annotated(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *step)
{
    nvtxDomainRangePushEx(domain, step);
    __asm__ volatile("" ::: "memory");
    nvtxDomainRangePop(domain);
}

int main(int argc, char **argv)
{
    const long calls = argc > 1 ? atol(argv[1]) : 1000000, passes = argc > 2 ? atol(argv[2]) : 1;
    nvtxDomainHandle_t domain = nvtxDomainCreateA("bench");
    nvtxEventAttributes_t step = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    step.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    step.message.registered = nvtxDomainRegisterStringA(domain, "step");
    for (long p = 0; p < passes; p++) {
        const double begin = now();
        for (long i = 0; i < calls; i++) user();
        const double middle = now();
        for (long i = 0; i < calls; i++) annotated(domain, &step);
        printf("%.3f %.3f\n", (middle - begin) / (double)calls, (now() - middle) / (double)calls);
    }
    return 0;
}
