/* SPDX-License-Identifier: BSD-3-Clause */
/* quick_children exec|_exit|exit|quick_exit N: forks N children one after the other, which compute for about 20 us, and end
   with 7 or become another program. Prints the number of those that ended so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile double sink;

static void compute(int steps)
{
    for (int i = 0; i < steps; i++) sink += i;
}

static void child(const char *how, int number)
{
    compute(5000 + 37 * number % 1000);
    if (!strcmp(how, "exec")) execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
    if (!strcmp(how, "exit")) exit(7);
    if (!strcmp(how, "quick_exit")) quick_exit(7);
    _exit(7);
}

int main(int argc, char **argv)
{
    int good = 0;
    for (int i = 0; i < (argc > 2 ? atoi(argv[2]) : 0); i++) {
        int status = 0;
        pid_t pid = fork();
        if (!pid) child(argv[1], i);
        waitpid(pid, &status, 0);
        good += WIFEXITED(status) && WEXITSTATUS(status) == 7;
    }
    printf("%d\n", good);
    return 0;
}
