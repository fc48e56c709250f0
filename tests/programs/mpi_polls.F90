! SPDX-License-Identifier: BSD-3-Clause
! Calls that find nothing, on one rank: 1000 of MPI_Iprobe, 2000 of MPI_Test, 300 of MPI_Testall. -DF08: module mpi_f08.
program mpi_polls
#ifdef F08
    use mpi_f08
#else
    use mpi
#endif
    implicit none
#ifdef F08
    type(MPI_Request) :: requests(2)
#else
    integer :: requests(2)
#endif
    integer :: values(2), sent, ierror, i
    logical :: flag
    call MPI_Init(ierror)
    do i = 1, 2
        call MPI_Irecv(values(i), 1, MPI_INTEGER, 0, i, MPI_COMM_SELF, requests(i), ierror)
    end do
    do i = 1, 1000
        call MPI_Iprobe(0, 9, MPI_COMM_SELF, flag, MPI_STATUS_IGNORE, ierror)
        if (flag) error stop
    end do
    do i = 1, 2000
        call MPI_Test(requests(1), flag, MPI_STATUS_IGNORE, ierror)
        if (flag) error stop
    end do
    do i = 1, 300
        call MPI_Testall(2, requests, flag, MPI_STATUSES_IGNORE, ierror)
        if (flag) error stop
    end do
    sent = 1
    do i = 1, 2
        call MPI_Send(sent, 1, MPI_INTEGER, 0, i, MPI_COMM_SELF, ierror)
    end do
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
    call MPI_Finalize(ierror)
end program mpi_polls
