/* SPDX-License-Identifier: BSD-3-Clause */
/* The setting VT_MPI_GROUPS: the groups of MPI functions that are recorded. */
#include "mpiwrap.h"

#include <stdlib.h>

static uint32_t vt_groups_on; /* one bit for each group */

static int vt_group_number(const char *name, size_t length)
{
    for (int i = 0; vt_mpi_groups[i]; i++)
        if (strlen(vt_mpi_groups[i]) == length && !strncmp(vt_mpi_groups[i], name, length)) return i;
    return -1;
}

static void vt_add_text(char *into, size_t bytes, const char *text) { strncat(into, text, bytes - strlen(into) - 1); }

static void vt_warn_unknown_group(const char *name, size_t length)
{
    char allowed[256] = "all, default";
    for (int i = 0; vt_mpi_groups[i]; i++) {
        vt_add_text(allowed, sizeof allowed, ", ");
        vt_add_text(allowed, sizeof allowed, vt_mpi_groups[i]);
    }
    vt_warn("VT_MPI_GROUPS: unknown group %.*s of MPI functions is ignored; the groups are %s", (int)length, name,
            allowed);
}

/* Stores the recorded groups among the settings of the trace. */
static void vt_define_groups(void)
{
    char names[256] = "";
    for (int i = 0; vt_mpi_groups[i]; i++) {
        if (!(vt_groups_on >> i & 1)) continue;
        if (*names) vt_add_text(names, sizeof names, ",");
        vt_add_text(names, sizeof names, vt_mpi_groups[i]);
    }
    vt_mpi_define_property("setting.VT_MPI_GROUPS", names);
}

void vt_mpi_read_groups(void)
{
    static const char separators[] = ", \t|";
    const char *at = vt_setting_text("VT_MPI_GROUPS");
    bool any = false;
    for (; at && *(at += strspn(at, separators)); at += strcspn(at, separators)) {
        const size_t length = strcspn(at, separators);
        const int number = vt_group_number(at, length);
        any = true;
        if (number >= 0) vt_groups_on |= 1u << number;
        else if (length == 3 && !strncmp(at, "all", 3)) vt_groups_on = ~0u;
        else if (length == 7 && !strncmp(at, "default", 7)) vt_groups_on |= VT_MPI_DEFAULT_GROUPS;
        else vt_warn_unknown_group(at, length);
    }
    if (!any) vt_groups_on = VT_MPI_DEFAULT_GROUPS;
    vt_define_groups();
}

bool vt_mpi_group_is_on(unsigned group) { return vt_groups_on >> group & 1; }
