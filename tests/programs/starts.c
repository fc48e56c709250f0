/* SPDX-License-Identifier: BSD-3-Clause */
/* starts HOW [WHICH]: starts /bin/echo a b, and waits for it.
     wait WHICH: forks; the child forks as well, so that it has events, and calls the exec function WHICH.
     silent: the child calls execv at once.   vfork, posix_spawn, posix_spawnp: by these functions.
     system, popen: by a shell.   cleared: by a shell, after it has emptied its environment.
     own WHICH: with an environment that has one variable only, by posix_spawn, or by fork and execve or execle.
     fails: the same, but two programs do not exist; prints the error.   waits WHICH: waits by the function WHICH. */
#define _GNU_SOURCE
#include <spawn.h>
#include "program.h"

static char *words[] = {"echo", "a", "b", NULL};

static void become(const char *how)
{
    const char *path = "/bin/echo";
    if (!strcmp(how, "execve")) execve(path, words, environ);
    if (!strcmp(how, "execv")) execv(path, words);
    if (!strcmp(how, "execvp")) execvp("echo", words);
    if (!strcmp(how, "execvpe")) execvpe("echo", words, environ);
    if (!strcmp(how, "execl")) execl(path, "echo", "a", "b", (char *)NULL);
    if (!strcmp(how, "execlp")) execlp("echo", "echo", "a", "b", (char *)NULL);
    if (!strcmp(how, "execle")) execle(path, "echo", "a", "b", (char *)NULL, environ);
    if (!strcmp(how, "fexecve")) fexecve(open(path, O_RDONLY | O_CLOEXEC), words, environ);
    _exit(9);
}

static int waits(pid_t child, const char *how)
{
    siginfo_t info;
    if (!strcmp(how, "wait")) return wait(NULL) != child;
    if (!strcmp(how, "wait3")) return wait3(NULL, 0, NULL) != child;
    if (!strcmp(how, "wait4")) return wait4(child, NULL, 0, NULL) != child;
    return waitid(P_PID, (id_t)child, &info, WEXITED);
}

static int ended(pid_t child)
{
    int status;
    return waitpid(child, &status, 0) != child || status;
}

static int by_shell(const char *how)
{
    char line[8];
    if (!strcmp(how, "cleared")) clearenv();
    if (strcmp(how, "popen")) return system("/bin/echo a b");
    FILE *pipe = popen("/bin/echo a b", "r");
    if (!pipe || !fgets(line, sizeof line, pipe)) return 1;
    fputs(line, stdout);
    return pclose(pipe);
}

static int own(const char *how)
{
    char one[] = "A=1", *environment[] = {one, NULL};
    pid_t pid;
    if (!strcmp(how, "posix_spawn"))
        return posix_spawn(&pid, "/bin/echo", NULL, NULL, words, environment) || ended(pid);
    if ((pid = fork())) return pid < 0 || ended(pid);
    if (!strcmp(how, "execve")) execve("/bin/echo", words, environment);
    else execle("/bin/echo", "echo", "a", "b", (char *)NULL, environment);
    _exit(9);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "silent";
    pid_t pid;
    if (!strcmp(how, "posix_spawn")) return posix_spawn(&pid, "/bin/echo", NULL, NULL, words, environ) || ended(pid);
    if (!strcmp(how, "posix_spawnp")) return posix_spawnp(&pid, "echo", NULL, NULL, words, environ) || ended(pid);
    if (!strcmp(how, "system") || !strcmp(how, "popen") || !strcmp(how, "cleared")) return by_shell(how);
    if (!strcmp(how, "own")) return own(argv[2]);
    if (!strcmp(how, "vfork")) {
        if (!(pid = vfork())) {
            execv("/bin/echo", words);
            _exit(9);
        }
        return pid < 0 || ended(pid);
    }
    if ((pid = fork())) return pid < 0 || (!strcmp(how, "waits") ? waits(pid, argv[2]) : ended(pid));
    if (!strcmp(how, "silent")) execv("/bin/echo", words);
    if (!strcmp(how, "waits")) _exit(0);
    if (!(pid = fork())) _exit(0);
    if (ended(pid)) _exit(1);
    if (!strcmp(how, "wait")) become(argc > 2 ? argv[2] : "execve");
    if (!strcmp(how, "fails")) {
        int first = execv("/nonexistent/program", words) ? errno : 0;
        int second = execv("/etc/passwd", words) ? errno : 0;
        printf("%d %d\n", first, second);
        fflush(stdout);
    }
    _exit(0);
}
