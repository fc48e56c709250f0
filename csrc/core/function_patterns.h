/* SPDX-License-Identifier: BSD-3-Clause */
/* VT_FUNCTIONS: the patterns that select functions. funwrap/filter_map.c applies the patterns, and decides when they
   change. */
#ifndef VT_FUNCTION_PATTERNS_H
#define VT_FUNCTION_PATTERNS_H

#include "filter.h"

#pragma GCC visibility push(hidden)

/* Replaces the patterns: "Calc*;-*get*". The last pattern that matches a name decides; a function that no pattern
   matches is selected if the first pattern begins with -; * matches functions without a name, too. NULL or "": all
   functions. Returns 0 if there is no memory. */
int vt_functions_set(const char *patterns);
/* Returns 1 if there are patterns. */
int vt_functions_chosen(void);
/* Returns 1 if patterns without - are set and none has selected a function. */
int vt_functions_missed(void);
/* Returns 1 if a function with these names is selected; f NULL: a function without a known name. */
int vt_functions_select(const struct vt_names_of *f);

#pragma GCC visibility pop

#endif
