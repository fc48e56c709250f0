/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs of several processes: process_plants PROPERTY. answers: two children work 300 and 700 ms in convolve, and send
   their results by a pipe. healthy_answers: both work 400 ms. healthy_commands: commands that work, whose output the
   program reads. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "work.h"

__attribute__((noinline)) static double convolve(double ms)
{
    const double end = plant_seconds(CLOCK_THREAD_CPUTIME_ID) + 1e-3 * ms;
    while (plant_seconds(CLOCK_THREAD_CPUTIME_ID) < end)
        for (volatile int i = 0; i < 20000; i++) continue;
    return end;
}

static int answers(double one, double other)
{
    int ends[2], read_all = 1;
    double result;
    if (pipe(ends)) return 1;
    for (int child = 0; child < 2; child++)
        if (fork() == 0) {
            result = convolve(child ? other : one);
            _exit(write(ends[1], &result, sizeof result) != sizeof result);
        }
    for (int child = 0; child < 2; child++) read_all &= read(ends[0], &result, sizeof result) == sizeof result;
    while (wait(NULL) > 0) continue;
    return !read_all;
}

static int commands(void)
{
    char line[64];
    for (int i = 0; i < 6; i++) {
        FILE *output = popen("sleep 0.1; echo done", "r");
        if (!output || !fgets(line, sizeof line, output)) return 1;
        pclose(output);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *property = argc > 1 ? argv[1] : "";
    if (!strcmp(property, "answers")) return answers(300, 700);
    return strcmp(property, "healthy_commands") ? answers(400, 400) : commands();
}
