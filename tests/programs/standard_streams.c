/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the descriptors of its files, in data.bin, and a line to its standard output. Ends with 3. */
#include "program.h"

int main(void)
{
    int file = open("data.bin", O_CREAT | O_TRUNC | O_WRONLY, 0644), other = open("/dev/null", O_RDONLY);
    char text[40];
    int length = snprintf(text, sizeof text, "descriptors %d %d", file, other);
    if (write(file, text, length) != length) return 1;
    printf("a line\n");
    return 3;
}
