/* SPDX-License-Identifier: BSD-3-Clause */
/* retitles WORD...: writes a title over its arguments, as daemons do, then work 1, then sleeps for 0.2 s. */
#include "program.h"

KEEP void work(void) { usleep(1); }

QUIET int main(int argc, char **argv)
{
    char *end = argv[argc - 1] + strlen(argv[argc - 1]);
    memset(argv[0], 0, (size_t)(end - argv[0]));
    strcpy(argv[0], "x");
    work();
    usleep(200000);
    return 0;
}
