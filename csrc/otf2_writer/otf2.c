/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the functions of libotf2, and contains the callbacks that libotf2 needs while an archive is written. */
#include "otf2.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include "transcode.h"

struct vt_otf2 vt_otf2;

static _Thread_local struct {
    int32_t code;
    char text[256];
} complaint;

int32_t vt_otf2_complaint(const char **text)
{
    *text = complaint.text;
    return complaint.code;
}

void vt_otf2_forget(void)
{
    complaint.code = 0;
    complaint.text[0] = 0;
}

/* libotf2 prints its errors on stderr unless a callback takes them. The first error is the most specific one, and is
   kept. Some errors reach only this callback: if the last bytes of a file cannot be written, closing the file still
   succeeds. */
static int32_t on_error(void *user, const char *file, uint64_t line, const char *function, int32_t code,
                        const char *format, va_list values)
{
    (void)user, (void)file, (void)line, (void)function;
    if (!complaint.code && code > 0) {
        complaint.code = code;
        vsnprintf(complaint.text, sizeof complaint.text, format, values);
    }
    return code;
}

VT_EXPORT int vt_kernel_open(const char *library, char *text, size_t size)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        snprintf(text, size, "%s", dlerror());
        return VT_BAD_LIBRARY;
    }
#define VT_OTF2_FIND(type, name, arguments)                                                                            \
    *(void **)&vt_otf2.name = dlsym(handle, "OTF2_" #name);                                                            \
    if (!vt_otf2.name) {                                                                                               \
        snprintf(text, size, "%s has no OTF2_%s", library, #name);                                                     \
        return VT_BAD_LIBRARY;                                                                                         \
    }
#define VT_OTF2_FIND_WRITER(name) VT_OTF2_FIND(int32_t, EvtWriter_##name, )
    VT_OTF2_FUNCTIONS(VT_OTF2_FIND)
    VT_OTF2_EVENTS(VT_OTF2_FIND_WRITER)
    vt_otf2.Error_RegisterCallback(on_error, NULL);
    return VT_OK;
}

VT_EXPORT const char *vt_kernel_event(uint32_t number)
{
    static const char *const names[] = {
#define VT_OTF2_NAME(name) #name,
        VT_OTF2_EVENTS(VT_OTF2_NAME)};
    return number < VT_EVENT_KINDS ? names[number] : NULL;
}

/* Without this callback libotf2 keeps all events in memory. */
static uint8_t pre_flush(void *user, uint8_t file, uint64_t location, void *caller, bool final)
{
    (void)user, (void)file, (void)location, (void)caller, (void) final;
    return VT_OTF2_FLUSH;
}

/* Gives a buffer of libotf2 one chunk, which libotf2 writes when the chunk is full. By default libotf2 collects 128 MiB
   first; if the disk is full at that point, closing the file frees memory twice. */
struct buffer {
    int taken;
    _Alignas(16) uint8_t chunk[];
};

static void *take_chunk(void *user, uint8_t file, uint64_t location, void **buffer, uint64_t size)
{
    (void)user, (void)file, (void)location;
    struct buffer *b = *buffer;
    if (!b) {
        b = *buffer = malloc(sizeof *b + size);
        if (!b) return NULL;
        b->taken = 0;
    }
    if (b->taken) return NULL;
    b->taken = 1;
    return b->chunk;
}

static void free_chunks(void *user, uint8_t file, uint64_t location, void **buffer, bool final)
{
    (void)user, (void)file, (void)location;
    struct buffer *b = *buffer;
    if (b) b->taken = 0;
    if (final) {
        free(b);
        *buffer = NULL;
    }
}

/* A lock is a pthread_mutex_t. */
static uint32_t lock_create(void *user, struct OTF2_LockObject **lock)
{
    (void)user;
    pthread_mutex_t *mutex = malloc(sizeof *mutex);
    if (!mutex || pthread_mutex_init(mutex, NULL)) {
        free(mutex);
        return VT_OTF2_CALLBACK_ERROR;
    }
    *lock = (struct OTF2_LockObject *)mutex;
    return VT_OTF2_CALLBACK_SUCCESS;
}

static uint32_t lock_destroy(void *user, struct OTF2_LockObject *lock)
{
    (void)user;
    if (lock) pthread_mutex_destroy((pthread_mutex_t *)lock);
    free(lock);
    return VT_OTF2_CALLBACK_SUCCESS;
}

static uint32_t lock_lock(void *user, struct OTF2_LockObject *lock)
{
    (void)user;
    return pthread_mutex_lock((pthread_mutex_t *)lock) ? VT_OTF2_CALLBACK_ERROR : VT_OTF2_CALLBACK_SUCCESS;
}

static uint32_t lock_unlock(void *user, struct OTF2_LockObject *lock)
{
    (void)user;
    return pthread_mutex_unlock((pthread_mutex_t *)lock) ? VT_OTF2_CALLBACK_ERROR : VT_OTF2_CALLBACK_SUCCESS;
}

VT_EXPORT int32_t vt_kernel_prepare(void *archive)
{
    static const struct vt_otf2_flush flush = {pre_flush, NULL};
    static const struct vt_otf2_memory memory = {take_chunk, free_chunks};
    static const struct vt_otf2_locking locking = {NULL, lock_create, lock_destroy, lock_lock, lock_unlock};
    int32_t code = vt_otf2.Archive_SetFlushCallbacks(archive, (const void *)&flush, NULL);
    if (!code) code = vt_otf2.Archive_SetMemoryCallbacks(archive, (const void *)&memory, NULL);
    return code ? code : vt_otf2.Archive_SetLockingCallbacks(archive, (const void *)&locking, NULL);
}

VT_EXPORT int32_t vt_kernel_complaint(char *text, size_t size)
{
    int32_t code = complaint.code;
    snprintf(text, size, "%s", complaint.text);
    vt_otf2_forget();
    return code;
}
