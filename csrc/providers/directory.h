/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the names in a directory, without allocating memory. */
#ifndef VT_DIRECTORY_H
#define VT_DIRECTORY_H

typedef void vt_directory_visit(const char *name, void *data);

#pragma GCC visibility push(hidden)

/* Calls visit for each name in a directory but . and .. in the kernel's order; for none if the directory cannot be
   read. */
void vt_directory_each(const char *path, vt_directory_visit *visit, void *data);

#pragma GCC visibility pop

#endif
