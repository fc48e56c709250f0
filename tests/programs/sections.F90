! SPDX-License-Identifier: BSD-3-Clause
! Sections in Fortran: the first lines of sections.c.
#include "vt_user.inc"
program sections
    implicit none
    character(len=16) :: name
    name = 'outer'
    VT_SECTION_START(name, 1, 0)
    VT_SECTION_START('cross', 2, 0)
    VT_SECTION_STOP('outer', 1, 0)
    VT_SECTION_STOP('cross', 2, 0)
    VT_SECTION_START('hidden', 1, 1)
    VT_SECTION_STOP('hidden', 1, 1)
end program
