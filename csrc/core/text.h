/* SPDX-License-Identifier: BSD-3-Clause */
/* Strings without stdio, and messages. A text never exceeds its memory: the rest is cut off. */
#ifndef VT_TEXT_H
#define VT_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include "core.h"

struct vt_text {
    char *at, *end;
};

#define VT_TEXT_NUMBER(macro) VT_TEXT_DIGITS(macro) /* a number as a literal */
#define VT_TEXT_DIGITS(digits) #digits
#define VT_TEXT_NAME 128u /* bytes; names are shorter */

#pragma GCC visibility push(hidden)

/* Begins an empty text in memory of the caller. */
struct vt_text vt_text_into(char *memory, size_t bytes);
/* Appends a string. */
void vt_text_add(struct vt_text *t, const char *s);
/* Appends a path, quoted as a word for a shell. */
void vt_text_word(struct vt_text *t, const char *s);
/* Replaces control characters by question marks: those of ASCII, and those of C1 in UTF-8. */
void vt_text_plain(char *s);
/* Append a number: hexadecimal, decimal. */
void vt_text_hex(struct vt_text *t, uint64_t v);
void vt_text_dec(struct vt_text *t, uint64_t v);
/* Returns how many characters must be added, removed, replaced or swapped with a neighbour to make one name of the other,
   upper case or not (Damerau 1964). VT_TEXT_NAME for a longer name. */
unsigned vt_text_distance(const char *a, size_t na, const char *b, size_t nb);
/* Returns a description of an error. error: -errno. */
const char *vt_reason(long error);
/* Stores the identity of standard error. Runs when the program starts. */
void vt_text_start(void);
/* Prints a line if VT_VERBOSE is at least `level`. */
void vt_say(uint64_t level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#pragma GCC visibility pop

#endif
