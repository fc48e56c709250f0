! SPDX-License-Identifier: BSD-3-Clause
! Call sites in Fortran; -DF08 takes module mpi_f08. Tests look lines up by their comments.
module work
#ifdef F08
    use mpi_f08
#else
    use mpi
#endif
    implicit none
    integer :: rank, size, ierror
contains
    subroutine sum(total)
        integer, intent(out) :: total
        call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror) ! site: sum
    end subroutine

    subroutine around(got)
        integer, intent(out) :: got
        integer :: right, left
        right = mod(rank + 1, size)
        left = mod(rank + size - 1, size)
        call MPI_Sendrecv(rank, 1, MPI_INTEGER, right, 1, got, 1, MPI_INTEGER, left, 1, &
                          MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)                      ! site: around
    end subroutine
end module

program sites
    use work
    implicit none
    integer :: total, got
    call MPI_Init(ierror) ! site: init
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
    call sum(total)
    call around(got)
    call MPI_Barrier(MPI_COMM_WORLD, ierror) ! site: barrier
    if (total < 0 .or. got < 0) print *, "wrong"
    call MPI_Finalize(ierror) ! site: finalize
end program
