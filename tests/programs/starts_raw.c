/* SPDX-License-Identifier: BSD-3-Clause */
/* starts_raw PROGRAM [ARGUMENT...]: creates a thread, then starts the program as Go does: by its own system calls, with
   the environment of its own start. Returns the exit code of the program. */
#include "program.h"

static long raw(long number, long a, long b, long c)
{
#if defined(__x86_64__)
    long result;
    register long d __asm__("r10") = 0, e __asm__("r8") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(d), "r"(e)
                     : "rcx", "r11", "memory");
    return result;
#else
    register long n __asm__("x8") = number, x __asm__("x0") = a, y __asm__("x1") = b, z __asm__("x2") = c;
    register long d __asm__("x3") = 0, e __asm__("x4") = 0;
    __asm__ volatile("svc 0" : "+r"(x) : "r"(n), "r"(y), "r"(z), "r"(d), "r"(e) : "memory");
    return x;
#endif
}

static void *nothing(void *unused) { return unused; }

int main(int argc, char **argv, char **envp)
{
    pthread_t thread;
    int status;
    if (argc < 2 || pthread_create(&thread, NULL, nothing, NULL)) return 2;
    pthread_join(thread, NULL);
    const long pid = raw(SYS_clone, SIGCHLD, 0, 0);
    if (!pid) {
        raw(SYS_execve, (long)argv[1], (long)(argv + 1), (long)envp);
        raw(SYS_exit_group, 127, 0, 0);
    }
    while (waitpid((int)pid, &status, 0) < 0) continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
