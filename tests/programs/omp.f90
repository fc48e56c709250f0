! SPDX-License-Identifier: BSD-3-Clause
! Constructs of OpenMP in Fortran, with closed-form counts; prints the results.
program openmp
  use omp_lib
  implicit none
  integer, parameter :: n = 20
  integer :: i, total
  integer(omp_lock_kind) :: lock
  total = 0
  call omp_init_lock(lock)
  !$omp parallel do schedule(dynamic) num_threads(2) reduction(+:total)
  do i = 1, n
    total = total + i
  end do
  !$omp end parallel do
  !$omp parallel num_threads(2) private(i)
  do i = 1, n
    !$omp critical
    !$omp atomic
    total = total + 1
    !$omp end critical
    call omp_set_lock(lock)
    !$omp atomic
    total = total + 1
    call omp_unset_lock(lock)
  end do
  !$omp barrier
  !$omp do schedule(guided)
  do i = 1, n
    !$omp atomic
    total = total + 1
  end do
  !$omp end do
  !$omp single
  do i = 1, 5
    !$omp task
    !$omp atomic
    total = total + 1
    !$omp end task
  end do
  !$omp taskwait
  !$omp end single
  !$omp end parallel
  call omp_destroy_lock(lock)
  print '(i0)', total
end program openmp
