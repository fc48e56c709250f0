/* SPDX-License-Identifier: BSD-3-Clause */
/* Uses HDF5: hdf5_calls N. Writes temperature (N x 4 doubles, written by rows, then read at once) and group/flags (8 int in
   memory, extended to 16) in out.h5; opens temperature N times; a call that fails prints nothing of its own. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>

static hid_t create(void)
{
    const hid_t file = H5Fcreate("out.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t group = H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t one = H5Screate(H5S_SCALAR),
                unit = H5Acreate2(group, "unit", H5T_NATIVE_INT, one, H5P_DEFAULT, H5P_DEFAULT);
    int value = 7;
    H5Awrite(unit, H5T_NATIVE_INT, &value);
    H5Aclose(unit);
    H5Sclose(one);
    H5Gclose(group);
    return file;
}

/* Each row by a selection of the file and a space in memory. */
static void write_rows(hid_t file, hsize_t n)
{
    const hsize_t size[] = {n, 4}, count[] = {1, 4};
    const hid_t space = H5Screate_simple(2, size, NULL), row = H5Screate_simple(2, count, NULL);
    const hid_t set = H5Dcreate2(file, "temperature", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    for (hsize_t i = 0; i < n; i++) {
        const double values[] = {(double)i, 1, 2, 3};
        const hsize_t start[] = {i, 0};
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
        H5Dwrite(set, H5T_NATIVE_DOUBLE, row, space, H5P_DEFAULT, values);
    }
    H5Dclose(set);
    H5Sclose(row);
    H5Sclose(space);
}

static void read_all(hid_t file, hsize_t n)
{
    double *all = malloc(n * 4 * sizeof *all);
    for (hsize_t i = 0; i < n; i++) {
        const hid_t set = H5Dopen2(file, "/temperature", H5P_DEFAULT);
        if (!i) H5Iinc_ref(set), H5Dclose(set); /* stays open */
        if (!i) H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, all);
        H5Dclose(set);
    }
    printf("%g\n", all[n * 4 - 4]);
    free(all);
}

static void extend(hid_t file)
{
    const hsize_t size[] = {8}, larger[] = {16}, most[] = {H5S_UNLIMITED};
    const hid_t space = H5Screate_simple(1, size, most), chunked = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(chunked, 1, size);
    const hid_t set = H5Dcreate2(file, "group/flags", H5T_STD_I16LE, space, H5P_DEFAULT, chunked, H5P_DEFAULT);
    int flags[16] = {1, 2, 3};
    H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, flags);
    H5Dset_extent(set, larger);
    H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, flags);
    H5Dclose(set);
    H5Pclose(chunked);
    H5Sclose(space);
}

/* The error of the failed call is still there after it. */
static void fail(hid_t file)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    const hid_t none = H5Dopen2(file, "nothing", H5P_DEFAULT);
    const ssize_t errors = H5Eget_num(H5E_DEFAULT);
    int value;
    const herr_t bad = H5Dread(file, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value);
    printf("%d %d %d %d\n", none < 0, errors > 0, bad < 0, H5Eget_num(H5E_DEFAULT) > 0);
}

int main(int argc, char **argv)
{
    const hsize_t n = argc > 1 ? (hsize_t)atoi(argv[1]) : 3;
    const hid_t file = create();
    write_rows(file, n);
    read_all(file, n);
    extend(file);
    fail(file);
    H5Fclose(file);
    H5close();
    return 0;
}
