/* SPDX-License-Identifier: BSD-3-Clause */
/* Asserts a condition that must hold for any input. libFuzzer reports an abort as a finding. */
#ifndef VT_INSIST_H
#define VT_INSIST_H

#include <stdio.h>
#include <stdlib.h>

#define INSIST(what)                                                                                                   \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what);                                         \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

#endif
