! SPDX-License-Identifier: BSD-3-Clause
! sampled_loops: a DO loop with an inner one and a DO WHILE, and an operation on a whole array.
program sampled_loops
  implicit none
  integer :: round, i
  real(8) :: s, field(20000)
  s = 0
  field = 1
  do round = 1, 3500
    do i = 1, 40000
      s = 1 / (s + i)
    end do
    i = 20000
    do while (i > 0)
      s = 1 / (s + i + 1)
      i = i - 1
    end do
    field(:) = sqrt(field(:) + s)
  end do
  print *, s, field(7)
end program
