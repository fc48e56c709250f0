/* SPDX-License-Identifier: BSD-3-Clause */
/* Children with the parent's descriptors: by fork, vfork and libc. Only the parent's calls are printed. */
#define _GNU_SOURCE
#include <spawn.h>
#include <sys/wait.h>
#include "io.h"

extern char **environ;

static void forked(int fd)
{
    int status;
    pid_t pid = fork();
    MUST(pid >= 0);
    if (!pid) {
        MUST(write(fd, "child", 5) == 5);
        MUST(!close(fd));
        MUST((fd = open("child", O_WRONLY | O_CREAT, 0600)) >= 0);
        MUST(write(fd, "child!", 6) == 6);
        MUST(!close(fd));
        exit(3);
    }
    MUST(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 3);
}

/* The child shares the parent's memory. A descriptor that the child closes stays open in the parent. */
static void vforked(int fd)
{
    int status, other;
    CALL((other = open("other", O_RDWR | O_CREAT, 0600)) >= 0, BIG("open") " +other");
    pid_t pid = vfork();
    if (!pid) {
        if (close(fd) || dup2(other, fd) != fd || write(fd, "vfork", 5) != 5 || close_range(3, ~0u, 0)) _exit(9);
        execl("/bin/sh", "sh", "-c", "exit 4", (char *)NULL);
        _exit(8);
    }
    MUST(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 4);
    CALL(write(fd, "parent", 6) == 6, "write w:data:6:6");
    CALL(!close(other), "close -other");
}

int main(void)
{
    int fd, status;
    pid_t pid;
    char *const args[] = {(char *)"sh", (char *)"-c", (char *)"echo spawned >&2", NULL};
    CALL((fd = open("data", O_RDWR | O_CREAT | O_APPEND, 0600)) >= 0, BIG("open") " +data");
    forked(fd);
    CALL(write(fd, "after", 5) == 5, "write w:data:5:5");
    vforked(fd);
    MUST(!posix_spawn(&pid, "/bin/sh", NULL, NULL, args, environ));
    MUST(waitpid(pid, &status, 0) == pid && !status);
    MUST(system("exit 0") == 0);
    CALL(write(fd, "end", 3) == 3, "write w:data:3:3");
    CALL(!close(fd), "close -data");
    tell();
    return 0;
}
