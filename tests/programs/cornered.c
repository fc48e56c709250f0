/* SPDX-License-Identifier: BSD-3-Clause */
/* cornered HOW CALLS [MORE]: main 1 -> work CALLS, then no file can be written, then work MORE. HOW: descriptors (none
   is free), chroot (into the empty directory "jail"), user (the user id becomes 65534), seccomp (open fails with
   EPERM), nothing. Prints "done" and exits with 7, or with 3 if HOW is not permitted. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include "program.h"

static volatile long sink;

KEEP void work(long i) { sink += i; }

static int no_files(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int corner(const char *how)
{
    struct rlimit three = {3, 3};
    if (!strcmp(how, "descriptors")) return setrlimit(RLIMIT_NOFILE, &three);
    if (!strcmp(how, "chroot")) return chroot("jail") || chdir("/");
    if (!strcmp(how, "user")) return setgid(65534) || setuid(65534);
    return strcmp(how, "seccomp") ? 0 : no_files();
}

int main(int argc, char **argv)
{
    long calls = argc > 2 ? atol(argv[2]) : 10, more = argc > 3 ? atol(argv[3]) : 0;
    for (long i = 0; i < calls; i++) work(i);
    if (corner(argv[1])) return 3;
    for (long i = 0; i < more; i++) work(i);
    errno = 1234;
    work(0);
    if (errno != 1234) return 4;
    printf("done\n");
    return 7;
}
