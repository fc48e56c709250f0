/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints ns of CPU time of an H5Dwrite of one row of a dataset in memory (the core driver, so that no layer below is recorded), by a
   selection and of all of a dataset: hdf5 CALLS. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double write_calls(hid_t set, hid_t memory, hid_t space, long n, const double *values)
{
    const double begin = now();
    for (long i = 0; i < n; i++) H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values);
    return (now() - begin) / (double)n * 1e9;
}

int main(int argc, char **argv)
{
    const long n = argc > 1 ? atol(argv[1]) : 100000;
    const hsize_t size[] = {64, 8}, row[] = {1, 8}, start[] = {3, 0};
    const double values[64 * 8] = {0};
    const hid_t core = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_core(core, 1 << 20, 0);
    const hid_t file = H5Fcreate("bench.h5", H5F_ACC_TRUNC, H5P_DEFAULT, core);
    const hid_t space = H5Screate_simple(2, size, NULL), memory = H5Screate_simple(2, row, NULL);
    const hid_t set = H5Dcreate2(file, "u10", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, row, NULL);
    write_calls(set, memory, space, n / 10, values);
    const double selected = write_calls(set, memory, space, n, values);
    printf("%g %g\n", selected, write_calls(set, H5S_ALL, H5S_ALL, n, values));
    H5Dclose(set);
    H5Fclose(file);
    return 0;
}
