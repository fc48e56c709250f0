/* SPDX-License-Identifier: BSD-3-Clause */
/* A library that allocates when it is opened and frees when it is closed. */
#include "program.h"

static void *block;

static KEEP void plugin_begin(void) { block = malloc(123456); }
static KEEP void plugin_end(void) { free(block); }

__attribute__((constructor)) static QUIET void opened(void) { plugin_begin(); }
__attribute__((destructor)) static QUIET void closed(void) { plugin_end(); }
