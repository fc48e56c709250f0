! SPDX-License-Identifier: BSD-3-Clause
! A module's procedures, recursion, and a procedure inside the main program.
! smooth 4; fib(8): 67 calls; inner 3 -> smooth 1 each: smooth is 7 in all.
module solver_mod
  implicit none
  integer :: sink = 0
contains
  subroutine smooth(n)
    integer, intent(in) :: n
    sink = sink + n
  end subroutine smooth

  recursive function fib(n) result(f)
    integer, intent(in) :: n
    integer :: f
    if (n < 2) then
      f = n
    else
      f = fib(n - 1) + fib(n - 2)
    end if
  end function fib
end module solver_mod

program solver
  use solver_mod
  implicit none
  integer :: i
  do i = 1, 4
    call smooth(i)
  end do
  do i = 1, 3
    call inner(i)
  end do
  sink = sink + fib(8)
  print '(a,i0)', 'sum ', sink
contains
  subroutine inner(n)
    integer, intent(in) :: n
    call smooth(n)
  end subroutine inner
end program solver
