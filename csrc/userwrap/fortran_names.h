/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that Fortran calls: their names, and their character arguments, which are padded with blanks and whose lengths
   follow all other arguments. */
#ifndef VT_FORTRAN_NAMES_H
#define VT_FORTRAN_NAMES_H

#include <string.h>

#define VT_FORTRAN_NAME_MOST 1024

struct vt_fortran_name {
    char text[VT_FORTRAN_NAME_MOST];
};

/* Compilers pass lengths as int or as size_t; no name is long enough for the difference to matter. */
static inline const char *vt_c_string(struct vt_fortran_name *into, const char *text, int bytes)
{
    size_t n = bytes > 0 ? (size_t)bytes : 0;
    while (n && text[n - 1] == ' ') n--;
    if (n >= VT_FORTRAN_NAME_MOST) n = VT_FORTRAN_NAME_MOST - 1;
    memcpy(into->text, text, n);
    into->text[n] = 0;
    return into->text;
}

/* lower: without the underscore that gfortran, ifx and flang append. With -fsecond-underscore they append two. */
#define VT_FORTRAN_TAILED(lower, upper, parameters)                                                                    \
    __attribute__((visibility("default"))) void lower##_ parameters;                                                   \
    __attribute__((visibility("default"))) void lower##__ parameters __attribute__((alias(#lower "_")));               \
    __attribute__((visibility("default"))) void upper parameters __attribute__((alias(#lower "_")));                   \
    void lower##_ parameters

#endif
