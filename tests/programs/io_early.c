/* SPDX-License-Identifier: BSD-3-Clause */
/* A library that does I/O before main, before the constructors of preloaded libraries, and after main. */
#include "program.h"

__attribute__((constructor)) static void early(void)
{
    int fd = open("early", O_WRONLY | O_CREAT, 0600);
    if (fd < 0 || write(fd, "early", 5) != 5 || close(fd)) _exit(1);
}

__attribute__((destructor)) static void late(void)
{
    FILE *f = fopen("late", "w");
    if (!f || fputs("later", f) < 0 || fclose(f)) _exit(1);
}
