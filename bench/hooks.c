/* SPDX-License-Identifier: BSD-3-Clause */
/* Hooks that do nothing: what the compiler's calls of them cost alone. */
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
