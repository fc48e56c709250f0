/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories and names of the local files, and the environment variables with which launchers describe the process. */
#ifndef VT_FILE_LOCATIONS_H
#define VT_FILE_LOCATIONS_H

#include "state.h"
#include "text.h"

#pragma GCC visibility push(hidden)

/* Returns the rank that the launcher has set in the environment, as text; NULL: no launcher has set a rank. Known
   before MPI_Init. Source: variables of Hydra, PMIx, Open MPI, MVAPICH, ALPS, PALS and Slurm. */
const char *vt_launcher_rank(void);
/* Reads the settings of directories and names: VT_PFORM_GDIR, VT_PFORM_LDIR, VT_FILE_PREFIX and VT_FILE_UNIQUE. */
void vt_place_read(struct vt_settings *set);
/* Reads a setting that names an input file, and writes the absolute path to `into`; "" if there is none. */
void vt_place_read_path(const char *name, char *into, size_t bytes);
/* Changes the prefix to PREFIX_COUNT (guide 4.2.3.5). */
void vt_place_count(struct vt_settings *set, uint32_t count);
/* Adds xHOST-PID-START, the part of a file name that identifies a process without a rank. */
void vt_place_add_process(struct vt_text *t);
/* Returns 0, with a warning, if neither the buffer nor the local files can be written. If only the buffer can be
   written, vtunify reads the buffer. */
int vt_place_has_room(const struct vt_settings *set);

#pragma GCC visibility pop

#endif
