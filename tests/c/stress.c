/* SPDX-License-Identifier: BSD-3-Clause */
/* stress SCENARIO: many threads in the recording core, for ThreadSanitizer. Linked with csrc/core and csrc/funwrap;
   tests/integration/test_sanitizers.py runs it. Prints the number of events where that is known. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../../csrc/core/buffer.h"

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

#define CHECK(x) ((x) ? (void)0 : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x), exit(1)))
#define THREADS 4
#define ROUNDS 20000
#define HELD 40 /* in chunks; all threads together need more than the first segment */

static _Atomic long made;
static _Atomic int owners;
static uint32_t common;

static void start(pthread_t *thread, void *(*body)(void *), long n)
{
    CHECK(!pthread_create(thread, NULL, body, (void *)n));
}

/* A function, a region and a message: two or three events in each round. */
static void record(long rounds)
{
    uint32_t own = vt_define_region("own", VT_PARADIGM_USER, VT_ROLE_FUNCTION, "stress.c", 1);
    for (long i = 0; i < rounds; i++) {
        uint64_t send[3] = {VT_HEAD(VT_K_SEND, 2, 1), 1, 2};
        __cyg_profile_func_enter((void *)(uintptr_t)record, NULL);
        __cyg_profile_func_exit((void *)(uintptr_t)record, NULL);
        if (i % 4 == 0) {
            vt_enter(own ? own : common);
            vt_write(send, 3);
            vt_leave(own ? own : common);
        }
    }
    atomic_fetch_add(&made, 2 * rounds + 3 * ((rounds + 3) / 4));
}

static void *recorder(void *rounds)
{
    record((long)rounds);
    return NULL;
}

static void *endless(void *unused)
{
    for (;;) record(100);
    return unused;
}

static void *creator(void *rounds)
{
    for (long i = 0; i < 50; i++) {
        pthread_t t;
        start(&t, recorder, (long)rounds);
        pthread_join(t, NULL);
    }
    return NULL;
}

/* Each chunk has one owner, also while the buffer grows. */
static void *owner(void *rounds)
{
    uint32_t me = (uint32_t)atomic_fetch_add(&owners, 1);
    struct vt_chunk *own[HELD];
    for (long i = 0; i < (long)rounds; i++) {
        int n = i % 50 ? 1 + (int)(i % 3) : HELD;
        for (int k = 0; k < n; k++) {
            CHECK(own[k] = vt_chunk_take());
            own[k]->location = me;
            own[k]->sequence = (uint32_t)k;
        }
        for (int k = 0; k < n; k++) {
            CHECK(own[k]->location == me && own[k]->sequence == (uint32_t)k);
            vt_chunk_give(own[k]);
        }
    }
    return NULL;
}

static void together(void *(*body)(void *), long rounds)
{
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++) start(&t[i], body, rounds);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
}

static void name_and_complete(void)
{
    struct vt_world w = {.size = sizeof w, .rank = 0, .world_size = 1, .world = 77, .run = "0123456789abcdef"};
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++) start(&t[i], i % 2 ? creator : recorder, i % 2 ? 100 : ROUNDS);
    record(10);
    vt_set_world(&w);
    for (int i = 0; i < 50; i++) {
        record(10);
        vt_complete();
    }
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
}

static void end_while_recording(void)
{
    pthread_t t[2 * THREADS];
    for (int i = 0; i < 2 * THREADS; i++) start(&t[i], i % 2 ? creator : endless, 100);
    record(1000);
    usleep(50000);
    exit(0);
}

/* Loads and unloads libm while other threads record. */
static void load_and_unload(void)
{
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++) start(&t[i], recorder, ROUNDS);
    for (int i = 0; i < 100; i++) {
        void *library = dlopen("libm.so.6", RTLD_NOW), *function = library ? dlsym(library, "cos") : NULL;
        CHECK(function);
        __cyg_profile_func_enter(function, NULL);
        __cyg_profile_func_exit(function, NULL);
        atomic_fetch_add(&made, 2);
        dlclose(library);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "first")) common = vt_define_region("common", VT_PARADIGM_USER, VT_ROLE_FUNCTION, NULL, 0);
    if (!strcmp(what, "first") || !strcmp(what, "record")) together(recorder, ROUNDS);
    else if (!strcmp(what, "chunks")) together(owner, 100000);
    else if (!strcmp(what, "adopt")) together(creator, 300);
    else if (!strcmp(what, "name")) name_and_complete();
    else if (!strcmp(what, "load")) load_and_unload();
    else if (!strcmp(what, "end")) end_while_recording();
    else return 2;
    printf("%ld\n", atomic_load(&made));
    return 0;
}
