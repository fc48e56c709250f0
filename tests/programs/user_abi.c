// SPDX-License-Identifier: BSD-3-Clause
// Makes the calls of an object that was compiled with VampirTrace's header.
void VT_User_start__(const char *name, const char *file, int line);
void VT_User_end__(const char *name);
unsigned int VT_User_def__(const char *name, const char *group, const char *file, int line);
void VT_User_start2__(unsigned int id);
void VT_User_end2__(unsigned int id);
unsigned int VT_User_count_group_def__(const char *name);
unsigned int VT_User_count_def__(const char *name, const char *unit, int type, unsigned int group);
void VT_User_count_signed_val__(unsigned int id, long long value);

int main(void)
{
    unsigned int id = VT_User_def__("work", "parts", "work.c", 9);
    VT_User_start__("all", "all.c", 5);
    VT_User_start2__(id);
    VT_User_count_signed_val__(VT_User_count_def__("n", "#", 1, VT_User_count_group_def__("g")), 42);
    VT_User_count_signed_val__(VT_User_count_def__("bad", "#", 99, -1), 42);
    VT_User_end2__(id);
    VT_User_end__("all");
    return 0;
}
