! SPDX-License-Identifier: BSD-3-Clause
! The same as sections_fapp.c.
program sections_fapp
    implicit none
    external :: fapp_start, fapp_stop, start_collection, stop_collection, fj_tofupa_start, fj_tofupa_stop
    character(len=20) :: name
    name = 'outer'
    call fapp_start(name, 1, 0)
    call start_collection('cross')
    call fapp_stop('outer', 1, 0)
    call stop_collection('cross')
    call fapp_start('hidden', 1, 1)
    call fapp_stop('hidden', 1, 1)
    call fj_tofupa_start('', 4095, 0)
    call fj_tofupa_stop('', 4095, 0)
    call fj_tofupa_start('', 2, 1)
    call fj_tofupa_stop('', 2, 1)
    call fj_tofupa_start('', 0, 0)
    call fj_tofupa_stop('', 0, 0)
    call fj_tofupa_start('', 4096, 0)
    call fj_tofupa_stop('', 4096, 0)
end program
