! SPDX-License-Identifier: BSD-3-Clause
! One rank starts a child with arguments, then two by another call, one of them without; each gets a message.
program mpi_fortran_spawn
#ifdef F08
  use mpi_f08
  implicit none
  type(MPI_Comm) :: parent, children
  type(MPI_Info) :: infos(2)
#else
  use mpi
  implicit none
  integer :: parent, children, infos(2)
#endif
  character(400) :: self
  character(20) :: words(3), argument, many(2, 3)
  character(400) :: commands(2)
  integer :: ierror, codes(2), me, got, i

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierror)
  call MPI_Comm_get_parent(parent, ierror)
  call get_command_argument(0, self)
  if (parent /= MPI_COMM_NULL) then
    call MPI_Recv(got, 1, MPI_INTEGER, 0, 5, parent, MPI_STATUS_IGNORE, ierror)
    if (got > 0) then
      call get_command_argument(1, argument)
      if (argument /= 'one') error stop 2
      call get_command_argument(2, argument)
      if (argument /= 'two words') error stop 3
    end if
    if (command_argument_count() /= got) error stop 4
    call MPI_Comm_disconnect(parent, ierror)
  else
    words = ['one                 ', 'two words           ', '                    ']
    call MPI_Comm_spawn(trim(self), words, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, children, MPI_ERRCODES_IGNORE, ierror)
    call MPI_Send(2, 1, MPI_INTEGER, 0, 5, children, ierror)
    call MPI_Comm_disconnect(children, ierror)
    commands = self
    infos = MPI_INFO_NULL
    many = ' '
    many(2, :) = words
    call MPI_Comm_spawn_multiple(2, commands, many, [1, 1], infos, 0, MPI_COMM_WORLD, children, codes, ierror)
    do i = 0, 1
      call MPI_Send(2 * i, 1, MPI_INTEGER, i, 5, children, ierror)
    end do
    if (any(codes /= MPI_SUCCESS)) error stop 5
    call MPI_Comm_disconnect(children, ierror)
    print '(a)', 'good'
  end if
  call MPI_Finalize(ierror)
end program mpi_fortran_spawn
