/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory-mapped files. Accesses to mapped memory cannot be recorded, only mmap, munmap and msync. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include "iowrap.h"

/* Addresses of mapped files, so that munmap of other memory, such as malloc's, is not recorded as I/O. If the table is
   full, the munmap of further files is not recorded. */
#define PLACES 1024u
static _Atomic(uintptr_t) mapped[PLACES];

static unsigned place_of(uintptr_t address) { return (unsigned)(address / 4096 * 0x9e3779b1u >> 7) % PLACES; }

static void remember(uintptr_t address)
{
    for (unsigned i = 0; i < 8; i++) {
        uintptr_t none = 0;
        if (atomic_compare_exchange_strong(&mapped[(place_of(address) + i) % PLACES], &none, address)) return;
    }
}

static bool forget(uintptr_t address)
{
    for (unsigned i = 0; i < 8; i++) {
        uintptr_t found = address;
        if (atomic_compare_exchange_strong(&mapped[(place_of(address) + i) % PLACES], &found, 0)) return true;
    }
    return false;
}

#define VT_IO_MMAP(symbol, offset)                                                                                     \
    VT_IO_EXPORT(symbol, symbol, FILE_IO_METADATA, void *,                                                             \
                 (void *to, size_t n, int protection, int flags, int fd, offset at))                                   \
    {                                                                                                                  \
        uint32_t region;                                                                                               \
        void *(*next)(void *, size_t, int, int, int, offset);                                                          \
        if (vt_io_is_off() || flags & MAP_ANONYMOUS || !(region = vt_io_begin(&vt_io_f_##symbol))) {                   \
            next = (void *(*)(void *, size_t, int, int, int, offset))vt_io_next(&vt_io_f_##symbol);                    \
            return next(to, n, protection, flags, fd, at);                                                             \
        }                                                                                                              \
        vt_enter_call(region);                                                                                         \
        next = VT_IO_NEXT(symbol, void *, (void *, size_t, int, int, int, offset));                                    \
        void *r = next(to, n, protection, flags, fd, at);                                                              \
        vt_io_leave(region, r == MAP_FAILED);                                                                          \
        if (r != MAP_FAILED && !vt_shares_memory()) remember((uintptr_t)r);                                            \
        return r;                                                                                                      \
    }

VT_IO_MMAP(mmap, off_t)
VT_IO_MMAP(mmap64, off64_t)
VT_IO_ALIAS(__mmap, mmap)

VT_IO_EXPORT(munmap, munmap, FILE_IO_METADATA, int, (void *from, size_t n))
{
    uint32_t region;
    if (vt_io_is_off() || vt_shares_memory() || !forget((uintptr_t)from) || !(region = vt_io_begin(&vt_io_f_munmap)))
        return ((int (*)(void *, size_t))vt_io_next(&vt_io_f_munmap))(from, n);
    vt_enter_call(region);
    const int r = VT_IO_NEXT(munmap, int, (void *, size_t))(from, n);
    vt_io_leave(region, r < 0);
    return r;
}
VT_IO_ALIAS(__munmap, munmap)

VT_IO_CALL(msync, msync, FILE_IO, int, (void *from, size_t n, int flags), (from, n, flags), r < 0)
