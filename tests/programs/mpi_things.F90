! SPDX-License-Identifier: BSD-3-Clause
! The calls of mpi_things.c: with F08 by module mpi_f08, with MPIF by mpif.h, else by module mpi.
#include "vt_user.inc"
#if defined F08
#define USES use mpi_f08
#define INCLUDES
#define HANDLE(kind) type(kind)
#elif defined MPIF
#define USES
#define INCLUDES include 'mpif.h'
#define HANDLE(kind) integer
#else
#define USES use mpi
#define INCLUDES
#define HANDLE(kind) integer
#endif
program mpi_things
  USES
  implicit none
  INCLUDES
  integer :: ierror, rank, v(6) = 0, total(6)
  HANDLE(MPI_Comm) :: pair
  HANDLE(MPI_File) :: file
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_dup(MPI_COMM_WORLD, pair, ierror)
  call MPI_Comm_set_name(pair, 'pair', ierror)
  VT_SECTION_START('exchange', 1, 0)
  if (rank == 0) then
    call MPI_Send(v, 3, MPI_INTEGER, 1, 7, pair, ierror)
  else
    call MPI_Recv(v, 6, MPI_INTEGER, 0, 7, pair, MPI_STATUS_IGNORE, ierror)
  end if
  VT_SECTION_STOP('exchange', 1, 0)
  call MPI_Bcast(v, 2, MPI_INTEGER, 1, pair, ierror)
  call MPI_Reduce(v, total, 3, MPI_INTEGER, MPI_SUM, 0, pair, ierror)
  call MPI_File_open(pair, 'things.dat', MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, ierror)
  call MPI_File_write_at(file, int(24 * rank, MPI_OFFSET_KIND), v, 5, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
  call MPI_File_close(file, ierror)
  call MPI_Comm_free(pair, ierror)
  call MPI_Finalize(ierror)
end program mpi_things
