! SPDX-License-Identifier: BSD-3-Clause
! Procedures of every kind in Fortran, counted where the compiler inlines none. The main program -> mesh::smooth 6 ->
! inner 2 each, contained; norm, a generic: mesh::norm_real 3, mesh::norm_int 1; mesh::each 2 -> the procedure that it is
! given, 5 times: add_to, contained in the main program, whose variables it uses, and mesh::square; mesh::fib(9): 109;
! mesh::twice, elemental, over 8 elements; part, in a submodule, 3; bare and scoped, outside of modules, 2 each;
! mesh::area, bound to a type, 7; mesh::finish, which is final, 3.
module mesh
  implicit none
  integer :: sink = 0
  type cell
    integer :: side = 2
  contains
    procedure :: area
    final :: finish
  end type cell
  interface norm
    procedure norm_real, norm_int
  end interface norm
  interface
    module subroutine part(n)
      integer, intent(in) :: n
    end subroutine part
  end interface
  abstract interface
    subroutine action(n)
      integer, intent(in) :: n
    end subroutine action
  end interface
contains
  subroutine smooth(n)
    integer, intent(in) :: n
    call inner(n)
    call inner(-n)
  contains
    subroutine inner(k)
      integer, intent(in) :: k
      sink = sink + k * n
    end subroutine inner
  end subroutine smooth

  real function norm_real(x)
    real, intent(in) :: x
    norm_real = abs(x)
  end function norm_real

  integer function norm_int(x)
    integer, intent(in) :: x
    norm_int = abs(x)
  end function norm_int

  subroutine each(n, what)
    integer, intent(in) :: n
    procedure(action) :: what
    integer :: i
    do i = 1, n
      call what(i)
    end do
  end subroutine each

  subroutine square(n)
    integer, intent(in) :: n
    sink = sink + n * n
  end subroutine square

  recursive function fib(n) result(f)
    integer, intent(in) :: n
    integer :: f
    if (n < 2) then
      f = n
    else
      f = fib(n - 1) + fib(n - 2)
    end if
  end function fib

  elemental integer function twice(n)
    integer, intent(in) :: n
    twice = 2 * n
  end function twice

  integer function area(this)
    class(cell), intent(in) :: this
    area = this%side**2
  end function area

  subroutine finish(this)
    type(cell), intent(inout) :: this
    sink = sink + this%side
  end subroutine finish
end module mesh

submodule (mesh) parts
contains
  module subroutine part(n)
    integer, intent(in) :: n
    sink = sink + 10 * n
  end subroutine part
end submodule parts

subroutine bare(n)
  use mesh
  implicit none
  integer, intent(in) :: n
  sink = sink + n
end subroutine bare

subroutine scoped(total)
  use mesh
  implicit none
  integer, intent(inout) :: total
  type(cell) :: own
  own%side = 3
  total = total + own%area()
end subroutine scoped

program exact
  use mesh
  implicit none
  integer :: i, total = 0
  integer :: numbers(8) = [(i, i = 1, 8)]
  real :: length = 0
  class(cell), allocatable :: one
  do i = 1, 6
    call smooth(i)
  end do
  do i = 1, 3
    length = length + norm(0.5 * i)
  end do
  total = norm(-4)
  call each(5, add_to)
  call each(5, square)
  total = total + fib(9) + sum(twice(numbers))
  allocate (one)
  do i = 1, 5
    total = total + one%area()
  end do
  deallocate (one)
  do i = 1, 3
    call part(i)
  end do
  do i = 1, 2
    call bare(i)
    call scoped(total)
  end do
  print '(a,i0,1x,i0,1x,f0.1)', 'sum ', total, sink, length
contains
  subroutine add_to(n)
    integer, intent(in) :: n
    total = total + n
  end subroutine add_to
end program exact
