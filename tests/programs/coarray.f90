! SPDX-License-Identifier: BSD-3-Clause
! Image 1 reads a value from each other image; then all images add up their values.
program coarray
  implicit none
  integer :: x[*], total, i
  x = this_image()
  sync all
  if (this_image() == 1) then
    total = x
    do i = 2, num_images()
      total = total + x[i]
    end do
    print '(a,i0)', 'total ', total
  end if
  sync all
  call co_sum(x)
  if (x /= num_images() * (num_images() + 1) / 2) error stop 1
end program coarray
