/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include "provider.h"

/* The kernel's struct linux_dirent64. */
struct directory_entry {
    uint64_t inode;
    int64_t offset;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

void vt_directory_each(const char *path, vt_directory_visit *visit, void *data)
{
    _Alignas(uint64_t) char entries[2048];
    long fd = vt_open(path, O_RDONLY | O_DIRECTORY, 0), n;
    if (fd < 0) return;
    while ((n = VT_SYS3(getdents64, fd, entries, sizeof entries)) > 0)
        for (long at = 0; at < n; at += ((struct directory_entry *)(void *)(entries + at))->bytes) {
            const char *name = ((struct directory_entry *)(void *)(entries + at))->name;
            if (strcmp(name, ".") && strcmp(name, "..")) visit(name, data);
        }
    VT_SYS1(close, fd);
}
