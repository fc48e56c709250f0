/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "funwrap.h"

#if VT_HAS_SLEDS

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static struct vt_sleds *refuse(const char *why)
{
    vt_warn("functions of a program compiled without vtrace-cc are not recorded: %s", why);
    return NULL;
}

static struct vt_sleds *use_xray(struct vt_sleds *sleds, const ElfW(Shdr) * xray, uintptr_t bias)
{
    sleds->xray = (const void *)(bias + xray->sh_addr);
    sleds->xray_end = (const char *)sleds->xray + xray->sh_size;
    return vt_xray_make_calls(sleds) ? sleds : refuse("this system does not let programs change their own code");
}

#if defined(__x86_64__)

#define STEP 65536u /* distance between two addresses where memory near a module is requested */
#define TRIES 16384u

static const uint8_t endbr64[4] = {0xf3, 0x0f, 0x1e, 0xfa};
enum { CALL = 0xe8, NOP = 0x90, PREFIX_32 = 0x67, PREFIX_16 = 0x66, PREFIX_CS = 0x2e };

/* Memory near a module, within the reach of CALL rel32. */
struct near_code {
    uint8_t code[VT_PAGE];
    struct vt_sleds sleds;
    void (*take_return)(void);
};
enum { ENTER = 0, LEAVE = 32 }; /* offsets in code */

struct foreign_code {
    const struct vt_elf *elf;
    uintptr_t start, bytes;
    uintptr_t slot; /* address of the pointer to __fentry__; 0: none */
    int patchable; /* 1: functions begin with NOPs */
};

/* ---- The hooks near a module ---- */

/* Writes PUSH or JMP [rip + disp32]. */
static uint8_t *indirect(uint8_t *at, uint8_t mode, const void *slot)
{
    int32_t distance = (int32_t)((uintptr_t)slot - ((uintptr_t)at + 6));
    at[0] = 0xff;
    at[1] = mode;
    memcpy(at + 2, &distance, 4);
    return at + 6;
}

void *vt_map_near(uintptr_t start, size_t bytes)
{
    for (uintptr_t i = 1; i < TRIES && start > i * STEP; i++) {
        uintptr_t at = (start & ~(uintptr_t)(STEP - 1)) - i * STEP;
        long p =
            VT_SYS6(mmap, at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (p == (long)at) return (void *)at;
        if (p > 0) VT_SYS2(munmap, p, bytes); /* an old kernel takes the address as a hint */
    }
    return NULL;
}

/* takes: 1: the code has no sleds at its returns. */
static struct vt_sleds *make_near(uintptr_t start, int takes)
{
    struct near_code *n = vt_map_near(start, sizeof *n);
    if (!n) return NULL;
    if (takes) indirect(indirect(n->code + ENTER, 0x35, &n->sleds.enter), 0x25, &n->take_return);
    else indirect(n->code + ENTER, 0x25, &n->sleds.enter);
    indirect(n->code + LEAVE, 0x25, &n->sleds.leave);
    n->take_return = vt_sled_take_return;
    n->sleds = (struct vt_sleds){.size = sizeof n->sleds,
                                 .enter = vt_sled_ask_enter,
                                 .leave = vt_sled_ask_leave,
                                 .ask_enter = vt_sled_ask_enter,
                                 .ask_leave = vt_sled_ask_leave,
                                 .on_enter = n->code + ENTER,
                                 .on_leave = n->code + LEAVE};
    if (VT_SYS3(mprotect, n, VT_PAGE, PROT_READ | PROT_EXEC) >= 0) return &n->sleds;
    VT_SYS2(munmap, n, sizeof *n);
    return NULL;
}

/* ---- The sleds ---- */

/* Returns the length of the call of __fentry__ at an address; 0: another instruction. */
static size_t calls_fentry(const struct foreign_code *m, const uint8_t *c)
{
    int32_t distance;
    if (!m->slot) return 0;
    memcpy(&distance, c + (*c == 0xff ? 2 : 1), sizeof distance);
    if (c[0] == 0xff && c[1] == 0x15) return (uintptr_t)c + 6 + (uintptr_t)distance == m->slot ? 6 : 0;
    const uint8_t *stub = c + 5 + distance; /* in the procedure linkage table */
    if (*c != CALL || (uintptr_t)stub - m->start >= m->bytes - 16) return 0;
    if (!memcmp(stub, endbr64, sizeof endbr64)) stub += 4;
    stub += *stub == 0xf2; /* the prefix BND */
    memcpy(&distance, stub + 2, sizeof distance);
    return stub[0] == 0xff && stub[1] == 0x25 && (uintptr_t)stub + 6 + (uintptr_t)distance == m->slot ? 5 : 0;
}

/* Returns the length of one instruction that does nothing; 0: another instruction. */
static size_t nop_length(const uint8_t *c)
{
    size_t prefixes = 0;
    while (prefixes < 7 && (c[prefixes] == PREFIX_16 || c[prefixes] == PREFIX_CS)) prefixes++;
    c += prefixes;
    if (*c == NOP) return prefixes + 1;
    if (c[0] != 0x0f || c[1] != 0x1f) return 0;
    size_t length = 3 + ((c[2] & 7) == 4); /* the SIB byte */
    return prefixes + length + (c[2] >> 6 == 1 ? 1 : c[2] >> 6 == 2 ? 4 : 0);
}

/* Turns the start of a function into a call of on_enter. */
static void make_call(const struct foreign_code *m, const struct vt_sleds *sleds, uintptr_t function, size_t bytes)
{
    uint8_t *c = (uint8_t *)function;
    size_t length;
    if (bytes < 6) return;
    if (!memcmp(c, endbr64, sizeof endbr64)) c += 4;
    length = calls_fentry(m, c);
    for (size_t one; m->patchable && length < 5 && (one = nop_length(c + length)); length += one) {}
    if (length < 5 || (size_t)(c - (uint8_t *)function) + length > bytes) return;
    memset(c, NOP, length);
    if (length == 6) *c++ = PREFIX_32; /* one instruction, so that the sled is as long as the call was */
    int32_t distance = (int32_t)((uintptr_t)sleds->on_enter - ((uintptr_t)c + 5));
    *c = CALL;
    memcpy(c + 1, &distance, 4);
}

static void make_calls(const struct foreign_code *m, const struct vt_sleds *sleds, uintptr_t bias)
{
    for (size_t i = 0; i < m->elf->count; i++) {
        const ElfW(Sym) *s = &m->elf->symbols[i];
        uintptr_t function = bias + s->st_value - m->start;
        if ((s->st_info & 15) == STT_FUNC && s->st_shndx && function < m->bytes && s->st_size <= m->bytes - function)
            make_call(m, sleds, m->start + function, s->st_size);
    }
}

struct vt_sleds *vt_foreign_sleds(struct vt_elf *e, uintptr_t bias, uintptr_t start, uintptr_t bytes)
{
    const ElfW(Shdr) *xray = vt_elf_section(e, "xray_instr_map");
    struct foreign_code m = {.elf = e, .start = start, .bytes = bytes};
    uintptr_t slot = vt_elf_slot(e, "__fentry__");
    m.slot = slot ? bias + slot : 0;
    m.patchable = vt_elf_section(e, "__patchable_function_entries") != NULL;
    if ((!xray && !m.slot && !m.patchable) || bytes < 16) return NULL;
    if (!xray && vt_has_threads()) return refuse("it has started threads");
    struct vt_sleds *sleds = make_near(start, !xray);
    if (!sleds) return refuse("there is no memory for code near its own");
    vt_foreign_personality(e, bias);
    if (xray) return use_xray(sleds, xray, bias);
    if (!vt_elf_symbols(e, SHT_SYMTAB) && !vt_elf_symbols(e, SHT_DYNSYM)) return NULL;
    if (!vt_patch_protect(start, bytes, 1)) return refuse("this system does not let programs change their own code");
    make_calls(&m, sleds, bias);
    vt_patch_protect(start, bytes, 0);
    return sleds;
}

#else

struct vt_sleds *vt_foreign_sleds(struct vt_elf *e, uintptr_t bias, uintptr_t start, uintptr_t bytes)
{
    const ElfW(Shdr) *xray = vt_elf_section(e, "xray_instr_map");
    (void)start, (void)bytes;
    if (!xray) return NULL;
    struct vt_sleds *sleds = vt_pages(sizeof *sleds);
    if (!sleds) return refuse("there is no memory");
    *sleds = (struct vt_sleds){.size = sizeof *sleds, .on_enter = vt_sled_enter, .on_leave = vt_sled_leave};
    vt_foreign_personality(e, bias);
    return use_xray(sleds, xray, bias);
}

#endif

#else

struct vt_sleds *vt_foreign_sleds(struct vt_elf *e, uintptr_t bias, uintptr_t start, uintptr_t bytes)
{
    (void)e, (void)bias, (void)start, (void)bytes;
    return NULL;
}

#endif
