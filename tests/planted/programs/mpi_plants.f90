! SPDX-License-Identifier: BSD-3-Clause
! MPI programs in Fortran with one property each: mpi_plants PROPERTY [STEPS [MS]]. MS: the longer work.
module workers
  use iso_c_binding
  implicit none
  interface
    integer(c_int) function c_usleep(us) bind(c, name="usleep")
      import c_int
      integer(c_int), value :: us
    end function
  end interface
  logical :: computes = .false.
  integer, volatile :: calls(4) = 0 ! functions with the same code would be merged
contains
  subroutine work(ms)
    real, intent(in) :: ms
    integer(c_int) :: done
    real :: now, end
    if (computes) then
      call cpu_time(end)
      end = end + 1e-3 * ms
      do
        call cpu_time(now)
        if (now >= end) exit
      end do
    else
      done = c_usleep(int(1e3 * ms, c_int))
    end if
  end subroutine
end module

module functions
  use workers
  implicit none
contains
  subroutine compute(ms)
    real, intent(in) :: ms
    calls(1) = calls(1) + 1
    call work(ms)
  end subroutine
  subroutine prepare(ms)
    real, intent(in) :: ms
    calls(2) = calls(2) + 1
    call work(ms)
  end subroutine
  subroutine chemistry(ms)
    real, intent(in) :: ms
    calls(3) = calls(3) + 1
    call work(ms)
  end subroutine
  subroutine rebuild_tree(ms)
    real, intent(in) :: ms
    calls(4) = calls(4) + 1
    call work(ms)
  end subroutine
end module

program mpi_plants
  use mpi
  use functions
  implicit none
  integer, parameter :: base = 10
  integer :: rank, ranks, steps = 20, step, ierr, status(MPI_STATUS_SIZE), buffer(250) = 0
  real :: ms = 20, one = 1, total
  character(len=32) :: property, word
  call get_environment_variable("PLANT_COMPUTES", word)
  computes = word /= ""
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call get_command_argument(1, property)
  call get_command_argument(2, word)
  if (word /= "") read (word, *) steps
  call get_command_argument(3, word)
  if (word /= "") read (word, *) ms
  do step = 0, steps - 1
    select case (property)
    case ("late_sender")
      if (mod(rank, 2) == 0 .and. rank + 1 < ranks) then
        call prepare(base + ms)
        call MPI_Send(buffer, 250, MPI_INTEGER, rank + 1, 1, MPI_COMM_WORLD, ierr)
      else if (mod(rank, 2) == 1) then
        call compute(real(base))
        call MPI_Recv(buffer, 250, MPI_INTEGER, rank - 1, 1, MPI_COMM_WORLD, status, ierr)
      end if
    case ("late_broadcast")
      if (rank == 0) call prepare(base + ms)
      if (rank /= 0) call compute(real(base))
      call MPI_Bcast(buffer, 250, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
      call MPI_Barrier(MPI_COMM_WORLD, ierr)
    case ("at_barrier")
      call compute(real(base))
      if (rank == ranks - 1) call chemistry(ms)
      call MPI_Barrier(MPI_COMM_WORLD, ierr)
    case ("at_nxn")
      call compute(real(base))
      call chemistry(1.5 * ms * rank / (ranks - 1))
      call MPI_Allreduce(one, total, 1, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, ierr)
    case ("straggler")
      call compute(real(base))
      call chemistry(merge(20 + 0.3 * ms, 20.0, rank == ranks / 2))
      call MPI_Allreduce(one, total, 1, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, ierr)
    case ("single_slow")
      call compute(real(base))
      if (rank == 1 .and. step == steps / 2) call rebuild_tree(5 * ms)
      call MPI_Allreduce(one, total, 1, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, ierr)
    case ("healthy")
      call compute(base + ms)
      call MPI_Allreduce(one, total, 1, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, ierr)
    end select
  end do
  call MPI_Finalize(ierr)
end program
