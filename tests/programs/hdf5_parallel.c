/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank writes 1000 int of u10 in par.h5: three times by all ranks together, then alone. */
#include <hdf5.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    static int values[1000];
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS), together = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    H5Pset_dxpl_mpio(together, H5FD_MPIO_COLLECTIVE);
    const hid_t file = H5Fcreate("par.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    const hsize_t all = 1000 * (hsize_t)ranks, own = 1000, start = 1000 * (hsize_t)rank;
    const hid_t space = H5Screate_simple(1, &all, NULL), mine = H5Screate_simple(1, &own, NULL);
    const hid_t u10 = H5Dcreate2(file, "u10", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &own, NULL);
    for (int i = 0; i < 1000; i++) values[i] = rank;
    for (int i = 0; i < 3; i++) H5Dwrite(u10, H5T_NATIVE_INT, mine, space, together, values);
    H5Dwrite(u10, H5T_NATIVE_INT, mine, space, H5P_DEFAULT, values);
    H5Dclose(u10);
    H5Sclose(mine);
    H5Sclose(space);
    H5Fclose(file);
    H5Pclose(together);
    H5Pclose(access);
    MPI_Finalize();
    return 0;
}
