/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes of datatypes. MPI is asked when a datatype is created or committed, not when it is used: the handle in a call
   may be invalid, and asking MPI about an invalid handle would call an error handler of the program. */
#include "mpiwrap.h"

struct vt_mpi_type vt_mpi_types[VT_TYPES]; /* predefined ones, whose handles never change; filled once, at MPI_Init */

static uint64_t vt_ask_size(MPI_Datatype type)
{
#ifdef VT_HAVE_MPI_Type_size_x
    MPI_Count size = 0;
    const int result = PMPI_Type_size_x(type, &size);
#else
    int size = 0;
    const int result = PMPI_Type_size(type, &size);
#endif
    return result == MPI_SUCCESS && size > 0 ? (uint64_t)size : 0;
}

void vt_mpi_learn_types(void)
{
    const MPI_Datatype types[] = {
        /* clang-format off */
        MPI_CHAR, MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_BYTE, MPI_PACKED, MPI_SHORT, MPI_UNSIGNED_SHORT, MPI_INT,
        MPI_UNSIGNED, MPI_LONG, MPI_UNSIGNED_LONG, MPI_LONG_LONG_INT, MPI_UNSIGNED_LONG_LONG, MPI_FLOAT, MPI_DOUBLE,
        MPI_LONG_DOUBLE, MPI_DOUBLE_INT, MPI_FLOAT_INT, MPI_2INT, MPI_LONG_INT, MPI_SHORT_INT, MPI_LONG_DOUBLE_INT,
        MPI_WCHAR, MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T,
        MPI_UINT64_T, MPI_C_BOOL, MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX, MPI_AINT,
        MPI_OFFSET, MPI_COUNT, MPI_CXX_BOOL, MPI_CXX_FLOAT_COMPLEX, MPI_CXX_DOUBLE_COMPLEX,
        MPI_CXX_LONG_DOUBLE_COMPLEX, MPI_CHARACTER, MPI_LOGICAL, MPI_INTEGER, MPI_REAL, MPI_DOUBLE_PRECISION,
        MPI_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_2INTEGER, MPI_2REAL, MPI_2DOUBLE_PRECISION, MPI_INTEGER1, MPI_INTEGER2,
        MPI_INTEGER4, MPI_INTEGER8, MPI_REAL4, MPI_REAL8, MPI_COMPLEX8, MPI_COMPLEX16,
        /* clang-format on */
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const uint64_t size = types[i] == MPI_DATATYPE_NULL ? 0 : vt_ask_size(types[i]);
        if (!size) continue;
        unsigned place = vt_mpi_type_place(VT_HANDLE(types[i]));
        while (vt_mpi_types[place].handle && vt_mpi_types[place].handle != VT_HANDLE(types[i]))
            place = (place + 1) % VT_TYPES;
        vt_mpi_types[place].size = size;
        vt_mpi_types[place].handle = VT_HANDLE(types[i]);
    }
}

/* ---- Datatypes of the program. The size of a freed one is kept until its handle is reused. ---- */

static struct vt_mpi_objects vt_made_types;

/* The call has succeeded, so the handle is valid. */
void vt_mpi_type_made(MPI_Datatype type) { vt_mpi_object_note(&vt_made_types, VT_HANDLE(type), vt_ask_size(type)); }

uint64_t vt_mpi_type_size(MPI_Datatype type)
{
    const uint64_t handle = VT_HANDLE(type);
    for (unsigned place = vt_mpi_type_place(handle); vt_mpi_types[place].handle; place = (place + 1) % VT_TYPES)
        if (vt_mpi_types[place].handle == handle) return vt_mpi_types[place].size;
    if (type == MPI_DATATYPE_NULL) return 0;
    uint64_t size;
    if (vt_mpi_object_noted(&vt_made_types, handle, &size)) return size;
    vt_warn("messages of datatypes whose creation vtrace did not see are recorded with 0 bytes");
    return 0;
}
