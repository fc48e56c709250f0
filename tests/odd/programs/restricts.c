/* SPDX-License-Identifier: BSD-3-Clause */
/* restricts strict|filter|seccomp|clock: calculates and allocates after it has restricted its own system calls, by prctl
   or by the call seccomp, or its instruction RDTSC. Writes two lines. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALLOWS(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static struct sock_filter rules[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOWS(write),
    ALLOWS(exit_group),
    ALLOWS(exit),
    ALLOWS(brk),
    ALLOWS(mmap),
    ALLOWS(munmap),
    ALLOWS(getrandom),
    ALLOWS(rt_sigreturn),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

static volatile double sum;

static void work(void)
{
    for (long i = 0; i < 30000000; i++) sum += (double)i;
}

int main(int argc, char **argv)
{
    struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
    int is_strict = argc > 1 && !strcmp(argv[1], "strict");
    work();
    if (is_strict) prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    else prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (argc > 1 && !strcmp(argv[1], "filter")) prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
    if (argc > 1 && !strcmp(argv[1], "seccomp")) syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
    if (argc > 1 && !strcmp(argv[1], "clock")) prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
    if (write(1, "restricted\n", 11) != 11) return 1;
    for (int i = 0; !is_strict && i < 100; i++) free(malloc((size_t)i + 1));
    work();
    if (write(1, "done\n", 5) != 5) return 1;
    if (is_strict) syscall(SYS_exit, 3);
    return 3;
}
