/* SPDX-License-Identifier: BSD-3-Clause */
/* The instructions of sleds. The address of the bytes that switch a sled identifies the sled; one store changes these
   bytes, so no thread has to stop. sled_code_x86.c and sled_code_arm.c have the instructions of each processor. */
#ifndef VT_SLED_CODE_H
#define VT_SLED_CODE_H

#include <stddef.h>
#include "sleds.h"

#pragma GCC visibility push(hidden)

/* Returns the sled at the start of a function; NULL: there is none. */
uint8_t *vt_sled_first(const struct vt_sleds *sleds, uintptr_t function, size_t bytes);
/* Finds the next sled that calls `hook`. *code: start of the search; set to the end of the sled. Returns NULL if there
   is none: then *code is `end`, or the first instruction that is not known. */
uint8_t *vt_sled_next(const uint8_t **code, const uint8_t *end, const void *hook);

/* Returns the return address of the sled's call, by which the function is recorded. */
uintptr_t vt_sled_place(const uint8_t *sled, const void *hook);
/* Returns the sled of a place. */
uint8_t *vt_sled_of_place(uintptr_t place);

int vt_sled_is_on(const uint8_t *sled);
/* Returns 1 if a debugger's breakpoint hides the bytes that switch the sled. */
int vt_sled_is_hidden(const uint8_t *sled);
/* Switches a sled in writable code. */
void vt_sled_switch(uint8_t *sled, int on);

/* ---- The sleds of clang's -fxray-instrument, as clang writes them ---- */

enum vt_xray_kind { VT_XRAY_ENTER, VT_XRAY_EXIT, VT_XRAY_TAIL_EXIT, VT_XRAY_ENTER_WITH_ARGUMENTS };
#if defined(__x86_64__)
#define VT_XRAY_BYTES 11 /* length of a sled */
#else
#define VT_XRAY_BYTES 32
#endif

/* Returns 1 if a sled of this kind can be at the address. */
int vt_xray_is_sled(uint8_t kind, const uint8_t *at);
/* Returns 1 if a breakpoint hides the first instruction of the sled, which therefore must stay as it is. */
int vt_xray_is_hidden(uint8_t kind, const uint8_t *at);
/* Writes the bytes after the first instruction, which no thread executes, if the sled is as clang has written it. */
void vt_xray_prepare(uint8_t kind, uint8_t *at, const void *hook);
/* Writes the first instruction of a prepared sled, so that the sled calls the hook. */
void vt_xray_turn_on(uint8_t kind, uint8_t *at, const void *hook);

#pragma GCC visibility pop

#endif
