/* SPDX-License-Identifier: BSD-3-Clause */
/* small_lives WAY: a program of some milliseconds whose exit code and output are always the same; for kills. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long sink;

static void work(long turns)
{
    for (long i = 0; i < turns; i++) sink += i;
}

static void turns(long n)
{
    for (long i = 0; i < n; i++) work(i % 50);
}

static void *run(void *unused)
{
    turns(5000);
    return unused;
}

static int threads(void)
{
    pthread_t all[4];
    for (int i = 0; i < 4; i++)
        if (pthread_create(&all[i], NULL, run, NULL)) return 3;
    for (int i = 0; i < 4; i++) pthread_join(all[i], NULL);
    return puts("threads") < 0 ? 4 : 5;
}

/* A small fork bomb: 14 processes. */
static int forks(int depth)
{
    int sum = 1, status;
    for (int i = 0; i < 2 && depth; i++) {
        const pid_t child = fork();
        if (!child) _exit(forks(depth - 1));
        if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)) sum += WEXITSTATUS(status);
    }
    turns(100);
    return sum;
}

static int chain(const char *left)
{
    char next[2] = {(char)(*left - 1), 0};
    turns(100);
    if (*left == '0') return puts("chain") < 0 ? 4 : 6;
    execl("/proc/self/exe", "chain", "chain", next, NULL);
    return 3;
}

static int spawned(void)
{
    for (int i = 0; i < 3; i++) {
        const pid_t child = vfork();
        if (!child) {
            execl("/bin/sh", "sh", "-c", "exit 2", NULL);
            _exit(9);
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 2) return 3;
    }
    return 7;
}

static void on_term(int number)
{
    static const char text[] = "caught\n";
    _exit(write(1, text, sizeof text - 1) > 0 ? 90 + (number != SIGTERM) : 92);
}

static int big_file(void)
{
    static const char zeros[300000];
    FILE *file = tmpfile();
    if (!file) return 8;
    const int whole = fwrite(zeros, 1, sizeof zeros, file) == sizeof zeros && !fflush(file);
    fclose(file);
    return whole ? 9 : 10;
}

static int way(const char *name, const char *left)
{
    if (!strcmp(name, "chain")) return chain(left);
    if (!strcmp(name, "threads")) return threads();
    if (!strcmp(name, "spawned")) return spawned();
    if (!strcmp(name, "file")) return big_file();
    if (!strcmp(name, "forks")) return forks(3);
    if (!strcmp(name, "abort")) abort();
    if (!strcmp(name, "catch")) signal(SIGTERM, on_term);
    if (!strcmp(name, "forever"))
        for (;;) turns(1000);
    if (!strcmp(name, "closes"))
        for (int i = 0; i < 64; i++) close(i);
    turns(20000);
    if (!strcmp(name, "closes")) _exit(11);
    return printf("%s\n", name) < 0 || fflush(stdout) ? 12 : 13;
}

int main(int argc, char **argv) { return argc < 2 ? 1 : way(argv[1], argc > 2 ? argv[2] : "4"); }
