/* SPDX-License-Identifier: BSD-3-Clause */
/* The function that CUDA's driver calls when the program begins to use CUDA, and the end of the recording. CUPTI has room
   for one tool: another one that is there already stays. */
#include <pthread.h>
#include <stdlib.h>
#include "cudawrap.h"

#ifndef VT_VERSION
#define VT_VERSION "development"
#endif
#define EXPORTED __attribute__((visibility("default")))
#define PERIOD 1000u /* ms after which CUPTI's own thread gives a full buffer back */

const struct vt_device_api vt_device_api = {"CUDA", "CUDA", 5 /* OTF2_PARADIGM_CUDA */, "CUDA_WINDOW"};

static _Atomic int records;

int vt_cuda_records(void) { return atomic_load_explicit(&records, memory_order_relaxed); }

static void forget(void) { atomic_store(&records, 0); }

/* Registered after the handlers of CUDA's runtime, so that it runs before them. */
static void end(void)
{
    if (!vt_cuda_records() || vt_has_ended()) return;
    vt_cuda_flush(1);
    vt_cuda_end_streams();
    vt_cuda_tell_losses();
}

const char *vt_cuda_text_of(int result)
{
    const char *text = NULL;
    if (result == VT_CUPTI_MULTIPLE_SUBSCRIBERS) return "another tool uses CUPTI, and keeps it";
    return vt_cupti.cuptiGetResultString(result, &text) == VT_CUPTI_SUCCESS && text ? text : "unknown error of CUPTI";
}

/* Enables the kinds of activities; without kernels there is none. Returns CUPTI's result. */
static int enable(void)
{
    static const uint32_t others[] = {VT_CUPTI_DEVICE, VT_CUPTI_MEMCPY, VT_CUPTI_MEMCPY2, VT_CUPTI_MEMSET};
    const int result = vt_cupti.cuptiActivityEnable(VT_CUPTI_CONCURRENT_KERNEL);
    for (size_t i = 0; i < sizeof others / sizeof *others && result == VT_CUPTI_SUCCESS; i++) {
        const int other = vt_cupti.cuptiActivityEnable(others[i]);
        if (other != VT_CUPTI_SUCCESS)
            vt_warn_left_out("library", "CUPTI does not record some activities of CUDA: %s", vt_cuda_text_of(other));
    }
    return result;
}

/* Begins the recording. Returns NULL, else why there is none. */
static const char *begin(void)
{
    void *subscriber = NULL;
    uint32_t version = 0;
    const char *problem = vt_cuda_load();
    if (problem) return problem;
    int result = vt_cupti.cuptiGetVersion(&version);
    if (result == VT_CUPTI_SUCCESS && version < VT_CUPTI_OLDEST) return "CUPTI is older than 11.8";
    if (result == VT_CUPTI_SUCCESS) result = vt_cupti.cuptiSubscribe(&subscriber, (void *)vt_cuda_called, NULL);
    if (result != VT_CUPTI_SUCCESS) return vt_cuda_text_of(result);
    vt_device_clock_start();
    vt_cuda_begin = vt_ticks();
    vt_cuda_clock_ask();
    atomic_store(&records, 1);
    result = vt_cuda_register_buffers();
    if (result == VT_CUPTI_SUCCESS) result = enable();
    if (result != VT_CUPTI_SUCCESS) {
        atomic_store(&records, 0);
        vt_cupti.cuptiUnsubscribe(subscriber);
        return vt_cuda_text_of(result);
    }
    vt_cupti.cuptiActivityFlushPeriod(PERIOD);
    vt_cuda_enable_calls(subscriber);
    return NULL;
}

/* Returns 1: CUDA starts in any case. */
EXPORTED int InitializeInjection(void)
{
    static _Atomic int called;
    const struct vt_shim shim = {.size = sizeof shim, .abi = VT_ABI, .name = "CUDA", .version = VT_VERSION};
    if (atomic_exchange(&called, 1) || !vt_attach(&shim)) return 1;
    const char *problem = VT_OWN_WORK(begin());
    if (problem) {
        vt_warn_left_out("library", "CUDA is not recorded: %s", problem);
        return 1;
    }
    atexit(end);
    at_quick_exit(end);
    pthread_atfork(NULL, NULL, forget);
    return 1;
}
