! SPDX-License-Identifier: BSD-3-Clause
! A unit of Fortran: 10 000 numbers of 8 bytes as a stream, written and read back.
program io_units
  implicit none
  real(8) :: x(10000)
  integer :: i
  x = [(real(i, 8), i = 1, 10000)]
  open (10, file="units.dat", access="stream", form="unformatted", status="replace")
  write (10) x
  close (10)
  x = 0
  open (10, file="units.dat", access="stream", form="unformatted", status="old")
  read (10) x
  close (10)
  if (abs(sum(x) - 50005000d0) > 1d-3) stop 1
end program io_units
