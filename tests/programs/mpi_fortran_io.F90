! SPDX-License-Identifier: BSD-3-Clause
! Two ranks put values into each other's window, and write and read a file, its name padded with blanks.
program mpi_fortran_io
#ifdef F08
  use mpi_f08
  implicit none
  type(MPI_Win) :: win
  type(MPI_File) :: file
  type(MPI_Request) :: request
#else
  use mpi
  implicit none
  integer :: win, file, request
#endif
  integer :: ierror, rank, mine(8), given(3)
  integer(MPI_OFFSET_KIND) :: at
  character(40) :: name = 'numbers'

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  mine = -1
  given = rank
  call MPI_Win_create(mine, 32_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
  call MPI_Win_set_name(win, 'mine      ', ierror)
  call MPI_Win_fence(0, win, ierror)
  call MPI_Put(given, 3, MPI_INTEGER, 1 - rank, 0_MPI_ADDRESS_KIND, 3, MPI_INTEGER, win, ierror)
  call MPI_Win_fence(0, win, ierror)
  if (any(mine(:3) /= 1 - rank)) error stop 1
  call MPI_Win_free(win, ierror)

  call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, ierror)
  at = 12 * rank
  call MPI_File_write_at_all(file, at, given, 3, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
  call MPI_File_sync(file, ierror)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  at = 12 * (1 - rank)
  call MPI_File_iread_at(file, at, mine, 2, MPI_INTEGER, request, ierror)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  if (any(mine(:2) /= 1 - rank)) error stop 2
  call MPI_File_close(file, ierror)
  call MPI_Finalize(ierror)
end program mpi_fortran_io
