! SPDX-License-Identifier: BSD-3-Clause
! MPI from Fortran on 3 ranks: with F08 by module mpi_f08, with MPIF by mpif.h, else by module mpi. The program checks
! the results of MPI; the test counts the events.
#ifdef F08
#define USES use mpi_f08
#define INCLUDES
#define HANDLE(kind) type(kind)
#define STATUS_OF(count) type(MPI_Status) :: count
#define STATUSES_OF(name, n) type(MPI_Status) :: name(n)
#define SOURCE(s) s%MPI_SOURCE
#define TAG(s) s%MPI_TAG
#define TAG_OF(s, i) s(i)%MPI_TAG
#else
#define HANDLE(kind) integer
#define STATUS_OF(name) integer :: name(MPI_STATUS_SIZE)
#define STATUSES_OF(name, n) integer :: name(MPI_STATUS_SIZE, n)
#define SOURCE(s) s(MPI_SOURCE)
#define TAG(s) s(MPI_TAG)
#define TAG_OF(s, i) s(MPI_TAG, i)
#ifdef MPIF
#define USES
#define INCLUDES include 'mpif.h'
#else
#define USES use mpi
#define INCLUDES
#endif
#endif

module checks
  implicit none
  integer :: rank, size
  integer :: first = 1 ! index that a call returns for the first request: 0 in the module mpi_f08 of some MPICHs
contains
  subroutine check(good, what)
    logical, intent(in) :: good
    character(*), intent(in) :: what
    if (good) return
    print '(3a,i0)', 'wrong: ', what, ' on rank ', rank
    error stop 1
  end subroutine check
end module checks

! Called by MPI when a communicator with an attribute is freed: frees the communicator that the attribute holds.
subroutine drop(comm, keyval, value, extra, ierror)
  USES
  implicit none
  INCLUDES
  HANDLE(MPI_Comm) :: comm
  integer :: keyval, ierror
  integer(MPI_ADDRESS_KIND) :: value, extra
  HANDLE(MPI_Comm) :: kept
#ifdef F08
  kept%MPI_VAL = int(value)
#else
  kept = int(value)
#endif
  if (keyval == MPI_KEYVAL_INVALID .or. extra /= 42) ierror = MPI_ERR_OTHER
  call MPI_Comm_free(kept, ierror)
end subroutine drop

program mpi_fortran
  USES
  use checks
  implicit none
  INCLUDES
#ifdef F08
  procedure(MPI_Comm_delete_attr_function) :: drop
#else
  external :: drop
#endif
  integer :: ierror
  double precision :: begin

  call MPI_Init(ierror)
  begin = MPI_Wtime()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  call check(size == 3, 'size')
  call blocking
  call requests
  call collectives
  call communicators
  call attributes
  call check(begin >= 0 .and. MPI_Wtime() > begin .and. MPI_Wtick() > 0 .and. MPI_Wtick() < 1, 'clock')
  call MPI_Finalize(ierror)
  if (rank == 0) print '(a)', 'good'

contains

  subroutine blocking
    integer :: v(8), n
    logical :: flag
    STATUS_OF(status)
    HANDLE(MPI_Message) :: message
    v = rank
    if (rank == 0) then
      call MPI_Send(v, 3, MPI_INTEGER, 1, 10, MPI_COMM_WORLD, ierror)
      call MPI_Ssend(v, 4, MPI_INTEGER, 1, 11, MPI_COMM_WORLD, ierror)
      call MPI_Send(v, 5, MPI_INTEGER, 1, 12, MPI_COMM_WORLD, ierror)
      call MPI_Send(v, 0, MPI_INTEGER, MPI_PROC_NULL, 13, MPI_COMM_WORLD, ierror)
    else if (rank == 1) then
      call MPI_Recv(v, 8, MPI_INTEGER, 0, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
      call MPI_Recv(v, 8, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, ierror)
      call check(SOURCE(status) == 0 .and. TAG(status) == 11, 'status of a receive')
      call MPI_Get_count(status, MPI_INTEGER, n, ierror)
      call check(n == 4, 'count of a receive')
      call MPI_Mprobe(0, 12, MPI_COMM_WORLD, message, status, ierror)
      call MPI_Iprobe(0, 99, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE, ierror)
      call check(.not. flag, 'probe in vain')
      call MPI_Mrecv(v, 8, MPI_INTEGER, message, status, ierror)
      call check(TAG(status) == 12 .and. all(v(:5) == 0), 'matched receive')
    end if
    v = rank
    call MPI_Sendrecv_replace(v, 2, MPI_INTEGER, mod(rank + 1, 3), 14, mod(rank + 2, 3), 14, MPI_COMM_WORLD, &
                              MPI_STATUS_IGNORE, ierror)
    call check(v(1) == mod(rank + 2, 3), 'ring')
  end subroutine blocking

  ! Rank 0 sends, rank 1 receives; another call completes each message.
  subroutine requests
    integer, parameter :: many = 40
    integer :: v(many), i, n, left, indices(many)
    logical :: flag, seen(many)
    HANDLE(MPI_Request) :: r(many)
    STATUS_OF(status)
    STATUSES_OF(statuses, many)
    v = 0
    call MPI_Irecv(v, 0, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, r(1), ierror)
    call MPI_Waitany(1, r, first, MPI_STATUS_IGNORE, ierror)
    do i = 1, many
      if (rank == 0) call MPI_Isend(i, 1, MPI_INTEGER, 1, 100 + i, MPI_COMM_WORLD, r(i), ierror)
      if (rank == 1) call MPI_Irecv(v(i), 1, MPI_INTEGER, 0, 100 + i, MPI_COMM_WORLD, r(i), ierror)
    end do
    if (rank < 2) call MPI_Waitall(many, r, MPI_STATUSES_IGNORE, ierror)
    if (rank == 1) call check(all(v == [(i, i = 1, many)]), 'waitall')
    if (rank < 2) call check(all([(r(i) == MPI_REQUEST_NULL, i = 1, many)]), 'requests that have ended')

    call start(4, 200, r, v)
    seen = .false.
    do i = 1, merge(4, 0, rank < 2)
      call MPI_Waitany(4, r, n, status, ierror)
      n = n - first + 1
      call check(n >= 1 .and. n <= 4, 'index of waitany')
      call check(.not. seen(n), 'waitany twice')
      if (rank == 1) call check(TAG(status) == 200 + n .and. v(n) == 200 + n, 'waitany')
      seen(n) = .true.
    end do
    if (rank < 2) call MPI_Waitany(4, r, n, MPI_STATUS_IGNORE, ierror)
    if (rank < 2) call check(n < 0, 'waitany without requests')

    call start(4, 300, r, v)
    left = merge(4, 0, rank < 2)
    do while (left > 0)
      call MPI_Waitsome(4, r, n, indices, statuses, ierror)
      indices = indices - first + 1
      do i = 1, n
        if (rank == 1) call check(TAG_OF(statuses, i) == 300 + indices(i), 'waitsome')
      end do
      left = left - n
    end do

    call start(2, 400, r, v)
    left = merge(2, 0, rank < 2)
    do while (left > 0)
      call MPI_Testany(2, r, n, flag, MPI_STATUS_IGNORE, ierror)
      if (flag) call check(n == first .or. n == first + 1, 'index of testany')
      if (flag) left = left - 1
    end do

    call start(2, 500, r, v)
    left = merge(2, 0, rank < 2)
    do while (left > 0)
      call MPI_Testsome(2, r, n, indices, MPI_STATUSES_IGNORE, ierror)
      if (n > 0) call check(all(indices(:n) >= first .and. indices(:n) <= first + 1), 'indices of testsome')
      left = left - n
    end do

    call start(1, 600, r, v)
    flag = rank > 1
    do while (.not. flag)
      call MPI_Test(r(1), flag, MPI_STATUS_IGNORE, ierror)
    end do

    if (rank == 0) call MPI_Ssend_init(v, 2, MPI_INTEGER, 1, 700, MPI_COMM_WORLD, r(1), ierror)
    if (rank == 0) call MPI_Send_init(v, 3, MPI_INTEGER, 1, 701, MPI_COMM_WORLD, r(2), ierror)
    if (rank == 1) call MPI_Recv_init(v, 8, MPI_INTEGER, 0, 700, MPI_COMM_WORLD, r(1), ierror)
    if (rank == 1) call MPI_Recv_init(v(9), 8, MPI_INTEGER, 0, 701, MPI_COMM_WORLD, r(2), ierror)
    do i = 1, merge(2, 0, rank < 2)
      call MPI_Startall(2, r, ierror)
      call MPI_Waitall(2, r, statuses, ierror)
      if (rank == 1) call check(TAG_OF(statuses, 2) == 701, 'persistent')
    end do
    do i = 1, merge(2, 0, rank < 2)
      call MPI_Request_free(r(i), ierror)
    end do
  end subroutine requests

  subroutine start(n, tag, r, v)
    integer, intent(in) :: n, tag
    HANDLE(MPI_Request) :: r(:)
    integer :: v(:), i
    do i = 1, n
      v(i) = tag + i
      if (rank == 0) call MPI_Isend(v(i), 1, MPI_INTEGER, 1, tag + i, MPI_COMM_WORLD, r(i), ierror)
      if (rank == 1) call MPI_Irecv(v(i), 1, MPI_INTEGER, 0, tag + i, MPI_COMM_WORLD, r(i), ierror)
    end do
  end subroutine start

  subroutine collectives
    integer :: v(6), w(6), ones(3), places(3), bytes(3)
    HANDLE(MPI_Datatype) :: types(3), pairs(3)
    HANDLE(MPI_Request) :: r
    ones = 1
    places = [0, 1, 2]
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    v = rank
    call MPI_Bcast(v, 6, MPI_INTEGER, 2, MPI_COMM_WORLD, ierror)
    call check(all(v == 2), 'bcast')
    v = rank + 1
    call MPI_Allreduce(MPI_IN_PLACE, v, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check(all(v(:2) == 6), 'allreduce in place')
    v = rank + 1
    call MPI_Reduce(v, w, 2, MPI_INTEGER, MPI_SUM, 1, MPI_COMM_WORLD, ierror)
    v = rank
    if (rank == 0) then
      call MPI_Gather(MPI_IN_PLACE, 2, MPI_INTEGER, v, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
      call check(all(v == [0, 0, 1, 1, 2, 2]), 'gather in place')
      call MPI_Scatter(v, 2, MPI_INTEGER, MPI_IN_PLACE, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    else
      call MPI_Gather(v, 2, MPI_INTEGER, w, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
      call MPI_Scatter(v, 2, MPI_INTEGER, w, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
      call check(all(w(:2) == rank), 'scatter')
    end if
    v(rank + 1) = rank
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_INTEGER, v, 1, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call check(all(v(:3) == [0, 1, 2]), 'allgather in place')
    v = rank
    call MPI_Allgatherv(v, 1, MPI_INTEGER, w, ones, places, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call MPI_Alltoallv(v, ones, places, MPI_INTEGER, w, ones, places, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    types = [MPI_INTEGER, MPI_2INTEGER, MPI_INTEGER]
    pairs = MPI_2INTEGER
    bytes = [0, 8, 16]
    call MPI_Alltoallw(v, merge(1, 0, places == 1), bytes, types, w, merge(1, 0, [rank, rank, rank] == 1), bytes, pairs, &
                       MPI_COMM_WORLD, ierror)
    if (rank == 1) call check(all(w == [0, 0, 1, 1, 2, 2]), 'alltoallw')
    call MPI_Ibarrier(MPI_COMM_WORLD, r, ierror)
    call MPI_Wait(r, MPI_STATUS_IGNORE, ierror)
    call check(r == MPI_REQUEST_NULL, 'ibarrier')
  end subroutine collectives

  subroutine communicators
    HANDLE(MPI_Comm) :: halves, copy, line
    HANDLE(MPI_Group) :: group, others
    character(MPI_MAX_OBJECT_NAME) :: name
    integer :: n, place(1)
    call MPI_Comm_split(MPI_COMM_WORLD, rank / 2, -rank, halves, ierror)
    call MPI_Comm_set_name(halves, 'halves of the world   ', ierror)
    call MPI_Comm_get_name(halves, name, n, ierror)
    call check(name(:n) == 'halves of the world', 'name')
    call MPI_Comm_dup(halves, copy, ierror)
    call MPI_Barrier(copy, ierror)
    call MPI_Comm_free(copy, ierror)
    call MPI_Comm_free(halves, ierror)
    call MPI_Comm_group(MPI_COMM_WORLD, group, ierror)
    call MPI_Group_excl(group, 1, [1], others, ierror)
    call MPI_Comm_create(MPI_COMM_WORLD, others, copy, ierror)
    call check((copy == MPI_COMM_NULL) .eqv. (rank == 1), 'create')
    if (rank /= 1) call MPI_Barrier(copy, ierror)
    if (rank /= 1) call MPI_Comm_free(copy, ierror)
    call MPI_Group_free(others, ierror)
    call MPI_Group_free(group, ierror)
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [3], [.true.], .false., line, ierror)
    call MPI_Cart_coords(line, rank, 1, place, ierror)
    call check(place(1) == rank, 'cart')
    call MPI_Comm_free(line, ierror)
  end subroutine communicators

  ! MPI_Comm_free calls the delete function, which calls it again. Optional ierror arguments are omitted if possible.
  subroutine attributes
    HANDLE(MPI_Comm) :: copy, kept
    integer(MPI_ADDRESS_KIND) :: value
    integer :: keyval
    logical :: found
    call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, drop, keyval, 42_MPI_ADDRESS_KIND, ierror)
    call MPI_Comm_dup(MPI_COMM_WORLD, copy, ierror)
    call MPI_Comm_dup(MPI_COMM_SELF, kept, ierror)
#ifdef F08
    call MPI_Comm_set_attr(copy, keyval, int(kept%MPI_VAL, MPI_ADDRESS_KIND))
    call MPI_Comm_get_attr(copy, keyval, value, found)
    call check(found .and. value == kept%MPI_VAL, 'attribute')
    call MPI_Comm_free(copy)
    call MPI_Comm_free_keyval(keyval)
#else
    call MPI_Comm_set_attr(copy, keyval, int(kept, MPI_ADDRESS_KIND), ierror)
    call MPI_Comm_get_attr(copy, keyval, value, found, ierror)
    call check(found .and. value == kept, 'attribute')
    call MPI_Comm_free(copy, ierror)
    call MPI_Comm_free_keyval(keyval, ierror)
#endif
  end subroutine attributes
end program mpi_fortran
