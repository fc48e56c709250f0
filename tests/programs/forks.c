/* SPDX-License-Identifier: BSD-3-Clause */
/* forks return|_exit|abort|exec|grandchild|silent: main 1 -> work 10, forks, waits, work 3. The child: child 1 -> work
   7, then the end by the argument. grandchild: the child of the child calls child 1 -> work 7, too, and the child waits
   for it. exec: exec of /bin/true. silent: the child records nothing. */
#include "program.h"

static volatile long sink;

static KEEP void work(int n) { sink += n; }

static KEEP void child(void)
{
    for (int i = 0; i < 7; i++) work(i);
}

static QUIET void end(const char *how)
{
    if (!strcmp(how, "_exit")) _exit(0);
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "exec")) execl("/bin/true", "true", (char *)0);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "return";
    for (int i = 0; i < 10; i++) work(i);
    pid_t pid = fork();
    if (pid == 0) {
        if (!strcmp(how, "silent")) _exit(0);
        child();
        if (!strcmp(how, "grandchild")) {
            pid_t next = fork();
            if (next == 0) child();
            else waitpid(next, 0, 0);
        }
        end(how);
        return 0;
    }
    waitpid(pid, 0, 0);
    for (int i = 0; i < 3; i++) work(i);
    return 0;
}
