/* SPDX-License-Identifier: BSD-3-Clause */
/* Strings without stdio, and messages. */
#ifndef VT_TEXT_H
#define VT_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include "core.h"

struct vt_text {
    char *at, *end;
};

#pragma GCC visibility push(hidden)

struct vt_text vt_text_into(char *memory, size_t bytes);
void vt_text_add(struct vt_text *t, const char *s);
void vt_text_word(struct vt_text *t, const char *s);
void vt_text_plain(char *s);
void vt_text_hex(struct vt_text *t, uint64_t v);
void vt_text_dec(struct vt_text *t, uint64_t v);
const char *vt_reason(long error); /* -errno */
void vt_text_start(void);
void vt_say(uint64_t level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#pragma GCC visibility pop

#endif
