/* SPDX-License-Identifier: BSD-3-Clause */
/* The program's own hooks, which print their counts at the end. With -DENTER_ONLY only the hook of enter. */
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

__attribute__((destructor)) PLAIN static void tell(void) { printf("%d %d\n", entered, left); }
