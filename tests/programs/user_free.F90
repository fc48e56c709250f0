! SPDX-License-Identifier: BSD-3-Clause
! Every macro of the user API, in lines that are valid in free and in fixed form.
#include "vt_user.inc"
      program user_free
      implicit none
      integer :: id, plain, group, i, l, r, d, error, hint, queue, on
      character(len=20) :: name
      name = 'made up'
      VT_USER_DEF('given', 'phases', 'given.f', 77, id)
      VT_USER_DEF('plain', '', '', 0, plain)
      do i = 1, 2
      VT_USER_START('loop')
      VT_USER_START2(id)
      VT_USER_START2(plain)
      VT_USER_END2(plain)
      VT_USER_END2(id)
      VT_USER_END('loop')
      end do
      VT_USER_START(name)
      VT_USER_END(trim(name))
      VT_OFF()
      VT_IS_ON(on)
      print *, on
      VT_USER_START('unseen')
      VT_USER_END('unseen')
      VT_ON()
      VT_IS_ON(on)
      print *, on
      VT_COUNT_GROUP_DEF('weather', group)
      VT_COUNT_DEF('level', 'm', VT_COUNT_TYPE_INTEGER, group, i)
      VT_COUNT_DEF('rain', 'drops', VT_COUNT_TYPE_INTEGER8, group, l)
      VT_COUNT_DEF('wind', 'm/s', VT_COUNT_TYPE_REAL, VT_COUNT_DEFGROUP, r)
      VT_COUNT_DEF('heat', '', VT_COUNT_TYPE_DOUBLE, VT_COUNT_DEFGROUP, d)
      VT_COUNT_INTEGER_VAL(i, -3)
      VT_COUNT_INTEGER8_VAL(l, 9223372036854775807_8)
      VT_COUNT_REAL_VAL(r, 0.5)
      VT_COUNT_DOUBLE_VAL(d, -1d300)
      VT_UPDATE_COUNTER()
      VT_MARKER_DEF('breaks', VT_MARKER_TYPE_ERROR, error)
      VT_MARKER_DEF('steps', VT_MARKER_TYPE_HINT, hint)
      VT_COMMENT_DEF('on a Monday')
      VT_COMMENT('half way')
      VT_MARKER(error, 'it broke')
      VT_MARKER(hint, 'it went')
      VT_MSG_COMM_DEF('queue', queue)
      VT_MSG_SEND(queue, 5, 80)
      VT_SEND(VT_COMM_WORLD, 6, 90)
      VT_MSG_RECV(queue, 5, 80)
      VT_RECV(VT_MSG_DEFCOMM, 6, 90)
      VT_BUFFER_FLUSH()
      VT_TIMESYNC()
      VT_SET_REWIND_MARK()
      VT_USER_START('discarded')
      VT_USER_END('discarded')
      VT_REWIND()
      end program user_free
