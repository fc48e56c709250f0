/* SPDX-License-Identifier: BSD-3-Clause */
/* Hooks of a program's own, which count and tell at the end: with -DENTER_ONLY only the one of enters. */
#include <stdio.h>

#define PLAIN __attribute__((no_instrument_function))

PLAIN void __cyg_profile_func_enter(void *function, void *site);
PLAIN void __cyg_profile_func_exit(void *function, void *site);

static int entered, left;

void __cyg_profile_func_enter(void *function, void *site)
{
    (void)function;
    (void)site;
    entered++;
}

#ifndef ENTER_ONLY
void __cyg_profile_func_exit(void *function, void *site)
{
    (void)function;
    (void)site;
    left++;
}
#endif

__attribute__((destructor)) PLAIN static void tell(void)
{
    printf("%d %d\n", entered, left);
}
