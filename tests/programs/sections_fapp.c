/* SPDX-License-Identifier: BSD-3-Clause */
/* The section routines of the Advanced Profiler and of Tofu PA. Also C++. With -DDECLARED without their headers.
   tests/integration/test_sections_compat.py has the expected records. */
#ifdef DECLARED
void fapp_start(const char *name, int number, int level);
void fapp_stop(const char *name, int number, int level);
void start_collection(const char *name);
void stop_collection(const char *name);
void fj_tofupa_start(const char *name, int region, int level);
void fj_tofupa_stop(const char *name, int region, int level);
#else
#include "fj_tool/fapp.h"
#include "fj_tool/fjtofupa.h"
#include <fjcoll.h>
#endif

int main(void)
{
    fapp_start("outer", 1, 0);
    start_collection("cross");
    fapp_stop("outer", 1, 0);
    stop_collection("cross");
    fapp_start("hidden", 1, 1);
    fapp_stop("hidden", 1, 1);
    fj_tofupa_start("", 4095, 0);
    fj_tofupa_stop("", 4095, 0);
    fj_tofupa_start("", 2, 1);
    fj_tofupa_stop("", 2, 1);
    fj_tofupa_start("", 0, 0); /* reserved */
    fj_tofupa_stop("", 0, 0);
    fj_tofupa_start("", 4096, 0); /* too large */
    fj_tofupa_stop("", 4096, 0);
    return 0;
}
