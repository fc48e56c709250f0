/* SPDX-License-Identifier: BSD-3-Clause */
/* Wraps calls of the recording core (the linker's --wrap). Full and returned chunks are write-protected, so a store
   into a chunk without an owner ends the program. For programs with one thread. */
#include <stdlib.h>
#include <sys/mman.h>
#include "../../csrc/core/buffer.h"

struct vt_chunk *__real_vt_chunk_take(void);
void __real_vt_chunk_give(struct vt_chunk *c);
void __real_vt_chunk_keep(struct vt_chunk *c);
void __real_vt_chunk_append(struct vt_chunk **first, struct vt_chunk **last, struct vt_chunk *c);
struct vt_chunk *__wrap_vt_chunk_take(void);
void __wrap_vt_chunk_give(struct vt_chunk *c);
void __wrap_vt_chunk_keep(struct vt_chunk *c);
void __wrap_vt_chunk_append(struct vt_chunk **first, struct vt_chunk **last, struct vt_chunk *c);

static void protect(struct vt_chunk *c, int how)
{
    if (c && mprotect(c, VT_CHUNK_SIZE, how)) abort();
}

struct vt_chunk *__wrap_vt_chunk_take(void)
{
    struct vt_chunk *c = __real_vt_chunk_take();
    protect(c, PROT_READ | PROT_WRITE);
    return c;
}

void __wrap_vt_chunk_give(struct vt_chunk *c)
{
    protect(c, PROT_READ | PROT_WRITE);
    __real_vt_chunk_give(c);
    protect(c, PROT_READ);
}

void __wrap_vt_chunk_keep(struct vt_chunk *c)
{
    protect(c, PROT_READ | PROT_WRITE);
    __real_vt_chunk_keep(c);
}

void __wrap_vt_chunk_append(struct vt_chunk **first, struct vt_chunk **last, struct vt_chunk *c)
{
    protect(*last, PROT_READ | PROT_WRITE);
    __real_vt_chunk_append(first, last, c);
    protect(*first, PROT_READ);
    protect(*last, PROT_READ);
    protect(c, PROT_READ);
}
