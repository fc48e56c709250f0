/* SPDX-License-Identifier: BSD-3-Clause */
/* Source: System V ABI, chapters 4 and 5 (ELF). */
#define _GNU_SOURCE
#include "funwrap.h"
#include <elf.h>
#include <string.h>

const void *vt_elf_piece(const struct vt_elf *e, uint64_t offset, uint64_t bytes)
{
    return offset <= e->bytes && bytes <= e->bytes - offset ? e->file + offset : NULL;
}

/* Returns the section headers; NULL: none. */
static const ElfW(Shdr) * sections_of(const struct vt_elf *e, uint32_t *count)
{
    const ElfW(Ehdr) *h = vt_elf_piece(e, 0, sizeof *h);
    if (!h || memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_shentsize != sizeof(ElfW(Shdr))) return NULL;
    *count = h->e_shnum;
    return vt_elf_piece(e, h->e_shoff, (uint64_t)h->e_shnum * sizeof(ElfW(Shdr)));
}

/* Returns the strings of a section if they end with 0. */
static const char *strings_of(const struct vt_elf *e, const ElfW(Shdr) * s)
{
    const char *strings = s->sh_type == SHT_NOBITS ? NULL : vt_elf_piece(e, s->sh_offset, s->sh_size);
    return strings && s->sh_size && !strings[s->sh_size - 1] ? strings : NULL;
}

static int read_symbols(struct vt_elf *e, const ElfW(Shdr) * sections, uint32_t count, const ElfW(Shdr) * s)
{
    if (s->sh_link >= count || s->sh_entsize != sizeof(ElfW(Sym))) return 0;
    e->symbols = vt_elf_piece(e, s->sh_offset, s->sh_size);
    e->count = s->sh_size / sizeof(ElfW(Sym));
    e->strings = strings_of(e, &sections[s->sh_link]);
    e->string_bytes = sections[s->sh_link].sh_size;
    return e->symbols && e->strings;
}

int vt_elf_symbols(struct vt_elf *e, uint32_t type)
{
    uint32_t count = 0;
    const ElfW(Shdr) *sections = sections_of(e, &count);
    for (uint32_t i = 0; sections && i < count; i++)
        if (sections[i].sh_type == type && read_symbols(e, sections, count, &sections[i])) return 1;
    e->count = 0;
    return 0;
}

const char *vt_elf_name(const struct vt_elf *e, const ElfW(Sym) * s)
{
    return s->st_name < e->string_bytes ? e->strings + s->st_name : "";
}

const ElfW(Shdr) * vt_elf_section(const struct vt_elf *e, const char *name)
{
    uint32_t count = 0;
    const ElfW(Shdr) *sections = sections_of(e, &count);
    const ElfW(Ehdr) *h = vt_elf_piece(e, 0, sizeof *h);
    if (!sections || h->e_shstrndx >= count) return NULL;
    const char *names = strings_of(e, &sections[h->e_shstrndx]);
    for (uint32_t i = 0; names && i < count; i++)
        if (sections[i].sh_name < sections[h->e_shstrndx].sh_size && !strcmp(names + sections[i].sh_name, name))
            return &sections[i];
    return NULL;
}

uintptr_t vt_elf_slot(const struct vt_elf *e, const char *symbol)
{
    uint32_t count = 0;
    const ElfW(Shdr) *sections = sections_of(e, &count);
    for (uint32_t i = 0; sections && i < count; i++) {
        const ElfW(Shdr) *s = &sections[i];
        struct vt_elf table = {.file = e->file, .bytes = e->bytes};
        if (s->sh_type != SHT_RELA || s->sh_link >= count || sections[s->sh_link].sh_type != SHT_DYNSYM) continue;
        const ElfW(Rela) *all = vt_elf_piece(e, s->sh_offset, s->sh_size);
        if (!all || !read_symbols(&table, sections, count, &sections[s->sh_link])) continue;
        for (size_t k = 0; k < s->sh_size / sizeof *all; k++) {
            uint64_t number = ELF64_R_SYM(all[k].r_info);
            if (number < table.count && !strcmp(vt_elf_name(&table, &table.symbols[number]), symbol))
                return all[k].r_offset;
        }
    }
    return 0;
}
