/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens and creates files in directories where other users may create files, too. Results below 0 are -errno. struct
   vt_identity identifies a file that vtrace created. */
#ifndef VT_SAFE_FILES_H
#define VT_SAFE_FILES_H

#include <stddef.h>
#include <sys/stat.h>
#include "state.h"

#pragma GCC visibility push(hidden)

/* Opens a file for a short time, with close-on-exec. Returns a descriptor, never 0, 1 or 2. */
long vt_open(const char *path, int flags, int mode);
/* Reads a file into a zero-terminated string of at most `bytes` bytes. Returns the bytes read. */
long vt_read_file(const char *path, char *into, size_t bytes);
/* The path of the program's executable, or "". Without /proc it is the path that the program was started with. */
void vt_executable(char *into, size_t bytes);
/* Returns 1 if the file exists and belongs to another user. */
int vt_is_foreign(const char *path);
/* Returns 1 if another user created the directory in a place where all users may write. */
int vt_is_strangers_directory(const char *path);
/* Creates a file, open for reading and writing, and returns its descriptor; -EEXIST: the name exists. */
long vt_create(const char *path, int mode, struct vt_identity *made);
/* Like vt_create; replaces a file of this user. */
long vt_create_temporary(const char *path, struct vt_identity *made);
/* Opens a file that vt_create created; -ESTALE: another file has its name. */
long vt_reopen(const char *path, int flags, const struct vt_identity *made);
/* Renames a file that vt_create created; replaces files of this user only. -EEXIST: another user has a file `to`. */
long vt_replace(const char *from, const char *to, const struct vt_identity *made);
/* Opens a regular file for reading; -ESTALE: not a regular file. */
long vt_open_plain(const char *path, struct stat *s);
/* Reads a small regular file into a zero-terminated string. Returns the bytes read. */
long vt_read_plain(const char *path, char *into, size_t bytes);
/* Writes a small file under a temporary name and renames it. temporary: VT_PATH bytes for the temporary name. */
long vt_put_file(const char *path, char *temporary, const char *text);

#pragma GCC visibility pop

#endif
