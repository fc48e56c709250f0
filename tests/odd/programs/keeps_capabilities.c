/* SPDX-License-Identifier: BSD-3-Clause */
/* Gives up its user, and keeps the capability to change its groups. The kernel keeps capabilities by thread, and libc lets
   each thread change its groups: the call would fail in a thread that it does not know, and libc would end the program. */
#define _GNU_SOURCE
#include <grp.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0}};
    int bad = prctl(PR_SET_KEEPCAPS, 1) != 0;
    bad += setresuid(65534, 65534, 65534) != 0;
    data[0].effective = data[0].permitted = 1u << CAP_SETGID;
    bad += syscall(SYS_capset, &head, data) != 0;
    bad += setresgid(65534, 65534, 65534) != 0;
    bad += setgroups(0, NULL) != 0;
    printf("%d %d %d\n", bad, getuid(), getgid());
    return bad;
}
