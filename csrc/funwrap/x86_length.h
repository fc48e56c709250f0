/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VT_X86_LENGTH_H
#define VT_X86_LENGTH_H

#include <stddef.h>
#include <stdint.h>

/* Returns the bytes of the instruction that begins at `code`; 0 if it is unknown or longer than `most` bytes. */
__attribute__((visibility("hidden"))) unsigned vt_x86_length(const uint8_t *code, size_t most);

#endif
