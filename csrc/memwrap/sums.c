/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums of the threads are in pages of the shim: they need neither a lock nor malloc, and outlive the thread, whose late
   destructors still count. A forked child adds up all threads; the end of the process records sums that no record has.
   Memory order: a thread claims the sums of another one by an exchange after `ended` was loaded with acquire, or after
   the kernel said that the thread is gone. */
#include "memwrap.h"
#include <errno.h>
#include <stddef.h>
#include "core/core.h"
#include "core/sys.h"

#define PAGE_SUMS 31

struct page {
    struct page *older;
    struct vt_sums of[PAGE_SUMS];
};

static struct page first;
static struct page *_Atomic newest = &first;
static _Atomic(int64_t) gone_bytes, gone_blocks; /* sums of ended threads whose entry another thread has taken */

VT_TLS struct vt_sums *vt_sums_of_thread;

/* Takes sums that no thread has, or whose thread does not exist any more. This function asks the kernel whether the
   thread exists, since destructors of an ending thread may still allocate. */
static bool claim(struct vt_sums *s, uint32_t me)
{
    uint32_t was = atomic_load_explicit(&s->thread, memory_order_relaxed);
    if (was && !atomic_load_explicit(&s->ended, memory_order_acquire)) return false;
    if (was && was != me && VT_SYS3(tgkill, VT_SYS0(getpid), was, 0) != -ESRCH) return false;
    if (!atomic_compare_exchange_strong(&s->thread, &was, me)) return false;
    atomic_fetch_add(&gone_bytes, s->bytes);
    atomic_fetch_add(&gone_blocks, s->blocks);
    s->bytes = s->blocks = 0;
    s->recorded_bytes = s->recorded_blocks = VT_NEVER;
    atomic_store(&s->ended, 0);
    return true;
}

static struct vt_sums *find(uint32_t me)
{
    for (struct page *p = atomic_load(&newest); p; p = p->older)
        for (int i = 0; i < PAGE_SUMS; i++)
            if (claim(&p->of[i], me)) return &p->of[i];
    struct page *made = vt_pages(sizeof *made);
    if (!made) return &first.of[0]; /* shared by threads: a wrong figure is better than no memory for the program */
    claim(&made->of[0], me);
    made->older = atomic_load(&newest);
    while (!atomic_compare_exchange_weak(&newest, &made->older, made)) {}
    return &made->of[0];
}

__attribute__((noinline, cold)) struct vt_sums *vt_sums_take(void)
{
    struct vt_sums *mine = find((uint32_t)VT_SYS0(gettid)), *none = NULL;
    if (__atomic_compare_exchange_n(&vt_sums_of_thread, &none, mine, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return mine;
    atomic_store(&mine->thread, 0); /* a signal handler was faster */
    return none;
}

void vt_sums_inherit(void)
{
    struct vt_sums *mine = vt_sums_own();
    int64_t bytes = atomic_exchange(&gone_bytes, 0), blocks = atomic_exchange(&gone_blocks, 0);
    for (struct page *p = atomic_load(&newest); p; p = p->older)
        for (int i = 0; i < PAGE_SUMS; i++) {
            struct vt_sums *s = &p->of[i];
            bytes += s->bytes;
            blocks += s->blocks;
            if (s != mine) *s = (struct vt_sums){0};
        }
    mine->bytes = bytes;
    mine->blocks = blocks;
    mine->recorded_bytes = mine->recorded_blocks = VT_NEVER;
    atomic_store(&mine->thread, (uint32_t)VT_SYS0(gettid));
    atomic_store(&mine->ended, 0);
}

void vt_sums_collect(void)
{
    struct vt_sums *mine = vt_sums_own();
    for (struct page *p = atomic_load(&newest); p; p = p->older)
        for (int i = 0; i < PAGE_SUMS; i++) {
            struct vt_sums *s = &p->of[i];
            if (s == mine || !atomic_load(&s->thread)) continue;
            mine->bytes += s->bytes - (s->recorded_bytes == VT_NEVER ? 0 : s->recorded_bytes);
            mine->blocks += s->blocks - (s->recorded_blocks == VT_NEVER ? 0 : s->recorded_blocks);
            s->recorded_bytes = s->bytes;
            s->recorded_blocks = s->blocks;
        }
}
