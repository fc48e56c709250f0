/* SPDX-License-Identifier: BSD-3-Clause */
/* Hooks that do nothing, for the cost of the calls that the compiler inserts. */
void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

void __cyg_profile_func_enter(void *function, void *site)
{
    (void)function;
    (void)site;
}

void __cyg_profile_func_exit(void *function, void *site)
{
    (void)function;
    (void)site;
}
