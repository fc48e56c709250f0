/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of an executable or library, in memory. All functions check the offsets and sizes in the file. */
#ifndef VT_ELF_FILE_H
#define VT_ELF_FILE_H

#include <link.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct vt_elf {
    const char *file;
    size_t bytes;
    const ElfW(Sym) * symbols; /* these members: the table found last */
    size_t count;
    const char *strings;
    size_t string_bytes;
};

/* Returns a part of the file; NULL: the file is too short. */
const void *vt_elf_piece(const struct vt_elf *e, uint64_t offset, uint64_t bytes);
/* Finds the symbol table of a type: SHT_SYMTAB or SHT_DYNSYM. Returns 0 if there is none. */
int vt_elf_symbols(struct vt_elf *e, uint32_t type);
const char *vt_elf_name(const struct vt_elf *e, const ElfW(Sym) * s);
/* Returns a section by its name; NULL: none. */
const ElfW(Shdr) * vt_elf_section(const struct vt_elf *e, const char *name);
/* Returns the address, without the module's bias, that the loader fills with the address of a symbol; 0: none. */
uintptr_t vt_elf_slot(const struct vt_elf *e, const char *symbol);

#pragma GCC visibility pop

#endif
