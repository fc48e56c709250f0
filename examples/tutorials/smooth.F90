! SPDX-License-Identifier: BSD-3-Clause
! Smooths a field on all ranks, with OpenMP threads on each rank. The second loop of a step, which adds the sources, has
! no directive: one thread works and the others have nothing to do. Compile with -DMENDED for the directive.
module steps
  use mpi
  implicit none
  integer, parameter :: n = 1500
  integer :: rank, ranks, ierror

contains

  ! Passes the last column to the next rank.
  subroutine exchange(field)
    double precision, intent(inout) :: field(0:n + 1, 0:n + 1)
    integer :: next, previous
    next = modulo(rank + 1, ranks)
    previous = modulo(rank - 1, ranks)
    call MPI_Sendrecv(field(0, n), n + 2, MPI_DOUBLE_PRECISION, next, 0, field(0, 0), n + 2, MPI_DOUBLE_PRECISION, &
                      previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  end subroutine exchange

  subroutine relax(from, to)
    double precision, intent(in) :: from(0:n + 1, 0:n + 1)
    double precision, intent(inout) :: to(0:n + 1, 0:n + 1)
    integer :: i, j
    !$omp parallel do
    do j = 1, n
      do i = 1, n
        to(i, j) = 0.25d0*(from(i - 1, j) + from(i + 1, j) + from(i, j - 1) + from(i, j + 1))
      end do
    end do
  end subroutine relax

  subroutine add_sources(to, from, step)
    double precision, intent(inout) :: to(0:n + 1, 0:n + 1)
    double precision, intent(in) :: from(0:n + 1, 0:n + 1)
    integer, intent(in) :: step
    integer :: i, j
#ifdef MENDED
    !$omp parallel do
#endif
    do j = 1, n
      do i = 1, n
        to(i, j) = from(i, j) + 1d-3*sin(0.01d0*i*step)*cos(0.01d0*j)
      end do
    end do
  end subroutine add_sources
end module steps

program smooth
  use steps
  implicit none
  double precision, allocatable :: old(:, :), new(:, :)
  double precision :: change, total
  integer :: step

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  allocate (old(0:n + 1, 0:n + 1), new(0:n + 1, 0:n + 1), source=dble(rank))
  do step = 1, 20
    call exchange(old)
    call relax(old, new)
    call add_sources(old, new, step)
    change = sum(abs(old(1:n, n) - new(1:n, n)))
    call MPI_Allreduce(change, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror)
  end do
  if (rank == 0) print '(a, es10.3)', 'change ', total
  call MPI_Finalize(ierror)
end program smooth
