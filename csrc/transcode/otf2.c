/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding libotf2's functions, and the callbacks that it needs while an archive is written. */
#include "otf2.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include "transcode.h"

struct vt_otf2 vt_otf2;

static _Thread_local char complaint[256];

const char *vt_otf2_complaint(void) { return complaint; }
void vt_otf2_forget(void) { complaint[0] = 0; }

/* libotf2 prints its errors on stderr unless someone takes them. The first one says most: it is kept. */
static int32_t on_error(void *user, const char *file, uint64_t line, const char *function, int32_t code,
                        const char *format, va_list values)
{
    (void)user, (void)file, (void)line, (void)function;
    if (!complaint[0]) vsnprintf(complaint, sizeof complaint, format, values);
    return code;
}

VT_EXPORT int vt_kernel_open(const char *library, char *text, size_t size)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        snprintf(text, size, "%s", dlerror());
        return VT_BAD_LIBRARY;
    }
#define VT_OTF2_FIND(type, name, arguments)                                                                           \
    *(void **)&vt_otf2.name = dlsym(handle, "OTF2_" #name);                                                           \
    if (!vt_otf2.name) {                                                                                              \
        snprintf(text, size, "%s has no OTF2_%s", library, #name);                                                    \
        return VT_BAD_LIBRARY;                                                                                        \
    }
    VT_OTF2_FUNCTIONS(VT_OTF2_FIND)
#undef VT_OTF2_FIND
    vt_otf2.Error_RegisterCallback((void *)&on_error, NULL);
    return VT_OK;
}

VT_EXPORT const char *vt_kernel_event(uint32_t number)
{
    static const char *const names[] = {
#define VT_OTF2_NAME(type, name, arguments) #name,
        VT_OTF2_EVENTS(VT_OTF2_NAME)
#undef VT_OTF2_NAME
    };
    return number < VT_EVENT_KINDS ? names[number] + sizeof "EvtWriter_" - 1 : NULL;
}

/* Without this libotf2 keeps all events in memory. */
static uint8_t pre_flush(void *user, uint8_t file, uint64_t location, void *caller, bool final)
{
    (void)user, (void)file, (void)location, (void)caller, (void)final;
    return 1; /* OTF2_FLUSH */
}

static int32_t lock_create(void *user, void **lock)
{
    (void)user;
    pthread_mutex_t *mutex = malloc(sizeof *mutex);
    if (!mutex || pthread_mutex_init(mutex, NULL)) {
        free(mutex);
        return 1; /* OTF2_CALLBACK_INTERRUPT */
    }
    *lock = mutex;
    return 0;
}

static int32_t lock_destroy(void *user, void *lock)
{
    (void)user;
    if (lock) pthread_mutex_destroy(lock);
    free(lock);
    return 0;
}

static int32_t lock_lock(void *user, void *lock)
{
    (void)user;
    return pthread_mutex_lock(lock) != 0;
}

static int32_t lock_unlock(void *user, void *lock)
{
    (void)user;
    return pthread_mutex_unlock(lock) != 0;
}

VT_EXPORT int32_t vt_kernel_prepare(void *archive)
{
    static const struct {
        uint8_t (*pre)(void *, uint8_t, uint64_t, void *, bool);
        uint64_t (*post)(void *, uint8_t, uint64_t);
    } flush = {pre_flush, NULL};
    static const struct {
        void (*release)(void *);
        int32_t (*create)(void *, void **);
        int32_t (*destroy)(void *, void *);
        int32_t (*lock)(void *, void *);
        int32_t (*unlock)(void *, void *);
    } locking = {NULL, lock_create, lock_destroy, lock_lock, lock_unlock};
    int32_t code = vt_otf2.Archive_SetFlushCallbacks(archive, &flush, NULL);
    return code ? code : vt_otf2.Archive_SetLockingCallbacks(archive, &locking, NULL);
}

VT_EXPORT int vt_kernel_complaint(char *text, size_t size)
{
    int n = snprintf(text, size, "%s", complaint);
    vt_otf2_forget();
    return n;
}
