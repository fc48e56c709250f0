/* SPDX-License-Identifier: BSD-3-Clause */
/* x86-64: the stubs that count the calls of functions that are left out. The sled at the start of such a function calls
   its stub in place of the hook: the four bytes of the call's operand change by one store within a cache line, so that
   each thread calls one or the other, and no call is missed. In a process with threads a sled across two cache lines
   stays, as do one that calls through a slot, and those of other processors: their hook counts. */
#define _GNU_SOURCE
#include "funwrap.h"

#if defined(__x86_64__)

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define STUB 64u
#define LINE 64u

static uint32_t used[VT_STUB_AREAS]; /* bytes of each area */

/* Returns the number of an area with room, within the reach of calls from the module; VT_STUB_AREAS: none. */
static uint32_t area_for(const struct vt_patch *p)
{
    const uintptr_t reach = (uintptr_t)1 << 30;
    uint32_t i = 0;
    for (; i < VT_STUB_AREAS && vt_stub_areas[i]; i++) {
        const uintptr_t at = vt_stub_areas[i], away = at < p->start ? p->start - at : at - p->start;
        if (away < reach && p->bytes < reach && used[i] + STUB <= VT_STUB_BYTES) return i;
    }
    if (i == VT_STUB_AREAS || p->bytes >= reach) return VT_STUB_AREAS;
    void *area = vt_map_near(p->start, VT_STUB_BYTES);
    if (!area) return VT_STUB_AREAS;
    vt_patch_protect((uintptr_t)area, VT_STUB_BYTES, 0);
    VT_SET(vt_stub_areas[i], (uintptr_t)area);
    return i;
}

static uint8_t *put(uint8_t *at, const char *code, size_t bytes, uint32_t operand)
{
    memcpy(at, code, bytes);
    memcpy(at + bytes, &operand, sizeof operand);
    return at + bytes + sizeof operand;
}

/* Only r11 and the flags may change at the start of a function (sled_hooks_x86.c). */
static void write_stub(uint8_t *at, uint32_t number)
{
    uintptr_t thread, slow = (uintptr_t)vt_sled_ask_enter;
    uint8_t *const end = at + STUB - sizeof slow;
    const uint32_t chunk = (uint32_t)(number / VT_PROFILE_ROWS * sizeof(char *));
    __asm__("mov %%fs:0, %0" : "=r"(thread));
    uint8_t *c = put(at, "\x64\x4c\x8b\x1c\x25", 5, (uint32_t)((uintptr_t)&vt_counts - thread)); /* mov %fs:X, %r11 */
    c = put(c, "\x4d\x8b\x9b", 3, chunk); /* mov chunk(%r11), %r11 */
    memcpy(c, "\x4d\x85\xdb\x74", 4); /* test %r11, %r11; je */
    c[4] = (uint8_t)(end - 6 - (c + 5));
    c = put(c + 5, "\x49\x83\x83", 3, (uint32_t)VT_COUNTED_AT(number)); /* addq $2, turns(%r11) */
    memcpy(c, "\x02\xc3", 2); /* ret */
    memcpy(end - 6, "\xff\x25\0\0\0", 6); /* jmp *end */
    memcpy(end, &slow, sizeof slow);
}

const uint8_t *vt_stub(const struct vt_patch *p, uint32_t number)
{
    const uint32_t i = area_for(p);
    if (i == VT_STUB_AREAS) return NULL;
    uint8_t *at = (uint8_t *)vt_stub_areas[i] + used[i];
    if (!vt_patch_protect((uintptr_t)at, STUB, 1)) return NULL;
    write_stub(at, number);
    vt_patch_protect((uintptr_t)at, STUB, 0);
    used[i] += STUB;
    return at;
}

static uintptr_t target_of(const uint8_t *sled)
{
    int32_t distance;
    memcpy(&distance, sled + 1, sizeof distance);
    return (uintptr_t)sled + 5 + (uintptr_t)distance;
}

int vt_sled_has_stub(const uint8_t *sled) { return vt_is_stub(target_of(sled)); }

int vt_has_threads(void)
{
    struct stat s;
    return VT_SYS4(newfstatat, AT_FDCWD, "/proc/self/task", &s, 0) >= 0 && s.st_nlink > 3;
}

int vt_sled_may_turn(const struct vt_sleds *sleds, const uint8_t *sled)
{
    return (target_of(sled) == (uintptr_t)sleds->on_enter || vt_sled_has_stub(sled)) &&
           (((uintptr_t)sled + 1) % LINE <= LINE - 4 || !vt_has_threads());
}

void vt_sled_turn(uint8_t *sled, const void *target)
{
    typedef int32_t __attribute__((aligned(1), may_alias)) any_int;
    if (!vt_sled_is_hidden(sled)) VT_SET(*(any_int *)(sled + 1), (int32_t)((uintptr_t)target - ((uintptr_t)sled + 5)));
}

#else

const uint8_t *vt_stub(const struct vt_patch *p, uint32_t number)
{
    (void)p, (void)number;
    return NULL;
}

int vt_sled_has_stub(const uint8_t *sled)
{
    (void)sled;
    return 0;
}

int vt_sled_may_turn(const struct vt_sleds *sleds, const uint8_t *sled)
{
    (void)sleds, (void)sled;
    return 0;
}

void vt_sled_turn(uint8_t *sled, const void *target) { (void)sled, (void)target; }

#endif
