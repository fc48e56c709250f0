! SPDX-License-Identifier: BSD-3-Clause
! The same as sampled_sections.c, with 2000 rounds.
program sampled_sections
    implicit none
    external :: fipp_start, fipp_stop
    real :: begin, finish, in, out
    integer :: i
    in = 0
    out = 0
    do i = 1, 2000
        call cpu_time(begin)
        call outside(600000)
        call cpu_time(finish)
        out = out + finish - begin
        call fipp_start
        call cpu_time(begin)
        call inside(600000)
        call cpu_time(finish)
        in = in + finish - begin
        call fipp_stop
    end do
    print '(i0,1x,i0)', nint(in * 1e9, 8), nint(out * 1e9, 8)
contains
    subroutine inside(n)
        integer, intent(in) :: n
        integer, volatile :: k, which
        do k = 1, n
            which = k
        end do
    end subroutine
    subroutine outside(n)
        integer, intent(in) :: n
        integer, volatile :: k, which
        do k = 1, n
            which = k
        end do
    end subroutine
end program
