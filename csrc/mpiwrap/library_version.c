/* SPDX-License-Identifier: BSD-3-Clause */
/* Name and version of the MPI library of this process. A prebuilt shim works for all versions of one ABI, so the mpi.h
   of its compilation does not state the version that runs. */
#include "mpiwrap.h"

#ifdef VT_PREBUILT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char vt_mpi_label[64] = VT_MPI_LABEL;
int vt_mpich_number;

/* Returns the first number at the start of a word in a text, such as 4.0.2 or v5.0.11; the end of the text without a
   number. */
static const char *vt_first_number(const char *text)
{
    for (; *text; text++)
        if (*text >= '0' && *text <= '9' && strchr(" \t:v", text[-1])) break;
    return text;
}

void vt_mpi_read_version(void)
{
    /* text in the version -> name; derived MPIs precede their origin */
    static const char *const names[][2] = {{"Open MPI", "Open MPI"},
                                           {"Intel(R) MPI", "Intel MPI"},
                                           {"MVAPICH", "MVAPICH"},
                                           {"CRAY MPICH", "Cray MPICH"},
                                           {"MPICH Version", "MPICH"}};
    static char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = " ";
    int length = 0;
    if (PMPI_Get_library_version(text + 1, &length) != MPI_SUCCESS) return;
    text[strcspn(text, "\n")] = 0;
    const char *number = vt_first_number(text + 1);
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strstr(text, names[i][0])) continue;
        snprintf(vt_mpi_label, sizeof vt_mpi_label, "%s %.*s", names[i][1], (int)strspn(number, "0123456789."), number);
        if (strcmp(names[i][1], "MPICH")) return;
        char *end;
        const long major = strtol(number, &end, 10), minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
        vt_mpich_number = (int)(major * 10000000 + minor * 100000);
        return;
    }
}
#endif
