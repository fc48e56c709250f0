/* SPDX-License-Identifier: BSD-3-Clause */
/* The recording core with a thread that is stopped while its location is created: the linker redirects a call to this
   file (--wrap). Meanwhile another thread records, and the program ends. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>
#include "../../csrc/core/system.h"

void *__real_vt_pages_wiped(size_t bytes);
void *__wrap_vt_pages_wiped(size_t bytes);

static _Thread_local int rests;
static sem_t resting;

void *__wrap_vt_pages_wiped(size_t bytes)
{
    if (!rests) return __real_vt_pages_wiped(bytes);
    sem_post(&resting);
    for (;;) pause();
}

static void record(void)
{
    uint32_t region = vt_define_region("work", VT_PARADIGM_USER, VT_ROLE_FUNCTION, NULL, 0);
    vt_enter(region);
    vt_leave(region);
}

static void *body(void *is_late)
{
    rests = is_late != NULL;
    record();
    return NULL;
}

int main(void)
{
    pthread_t late, other;
    record();
    sem_init(&resting, 0, 0);
    if (pthread_create(&late, NULL, body, &resting)) return 1;
    sem_wait(&resting);
    if (pthread_create(&other, NULL, body, NULL)) return 1;
    pthread_join(other, NULL);
    return 0;
}
