/* SPDX-License-Identifier: BSD-3-Clause */
/* many_sections N: a section starts and stops N times. */
#include <stdlib.h>
#include "vt_user.h"

int main(int argc, char **argv)
{
    const long n = argc > 1 ? atol(argv[1]) : 1;
    for (long i = 0; i < n; i++) {
        VT_SECTION_START("part", 1, 0);
        VT_SECTION_STOP("part", 1, 0);
    }
    return 0;
}
