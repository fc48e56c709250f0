/* SPDX-License-Identifier: BSD-3-Clause */
/* user_fork: both processes end region outer, which the parent has begun before the fork; each has a region inner. */
#include "vt_user.h"
#include "program.h"

int main(void)
{
    VT_USER_START("outer");
    const pid_t child = fork();
    VT_USER_START("inner");
    VT_USER_END("inner");
    VT_USER_END("outer");
    return child ? waitpid(child, NULL, 0) != child : 0;
}
