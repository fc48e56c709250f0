/* SPDX-License-Identifier: BSD-3-Clause */
/* Files in directories where other users may create files, too; results below 0 are -errno. */
#ifndef VT_SAFE_FILES_H
#define VT_SAFE_FILES_H

#include <stddef.h>
#include <sys/stat.h>
#include "state.h"

#pragma GCC visibility push(hidden)

long vt_open(const char *path, int flags, int mode); /* -errno */
long vt_read_file(const char *path, char *into, size_t bytes); /* zero-terminated; bytes read or -errno */
int vt_is_foreign(const char *path); /* 1: it exists and belongs to another user */
int vt_is_strangers_directory(const char *path); /* 1: another user has made it where all users may */
long vt_create(const char *path, int mode, struct vt_identity *made);
long vt_create_temporary(const char *path, struct vt_identity *made);
long vt_reopen(const char *path, int flags, const struct vt_identity *made);
long vt_replace(const char *from, const char *to, const struct vt_identity *made);
long vt_open_plain(const char *path, struct stat *s);
long vt_read_plain(const char *path, char *into, size_t bytes);
long vt_put_file(const char *path, char *temporary, const char *text);

#pragma GCC visibility pop

#endif
