/* SPDX-License-Identifier: BSD-3-Clause */
/* counter_regions [MODE]: touches new pages in user regions and prints for each region its page faults by getrusage.
   plain: regions "outer" (100 pages of its own) and in it "inner" (50 pages), 3 times. threads: two threads, one after
   the other, touch 200 and 300 pages in "worker". fork: a child touches 150 pages in "child". closes: closes all
   descriptors above 2 after the first region, and opens pipes in their places. */
#define _GNU_SOURCE
#include "vt_user.h"
#include "program.h"

static long faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt + usage.ru_majflt;
}

/* Touches n new pages; returns the page faults. */
static long touch(long n)
{
    const long page = sysconf(_SC_PAGESIZE), before = faults();
    char *memory = mmap(NULL, (size_t)(n * page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, (size_t)(n * page), MADV_NOHUGEPAGE);
    for (long i = 0; i < n; i++) memory[i * page] = 1;
    const long after = faults();
    munmap(memory, (size_t)(n * page));
    return after - before;
}

static void *work(void *pages)
{
    VT_USER_START("worker");
    printf("worker %ld\n", touch(*(long *)pages));
    VT_USER_END("worker");
    return NULL;
}

static void plain(void)
{
    for (int i = 0; i < 3; i++) {
        VT_USER_START("outer");
        long outer = touch(60), inner;
        VT_USER_START("inner");
        inner = touch(50);
        VT_USER_END("inner");
        outer += touch(40);
        VT_USER_END("outer");
        printf("outer %ld\ninner %ld\n", outer, inner);
    }
}

static void threads(void)
{
    for (long pages = 200; pages <= 300; pages += 100) {
        pthread_t thread;
        pthread_create(&thread, NULL, work, &pages);
        pthread_join(thread, NULL);
    }
}

static void forks(void)
{
    fflush(stdout);
    if (!fork()) {
        VT_USER_START("child");
        printf("child %ld\n", touch(150));
        VT_USER_END("child");
        exit(0);
    }
    wait(NULL);
}

static void closes(void)
{
    int pipes[600][2], n = 0;
    VT_USER_START("outer");
    VT_USER_END("outer");
    for (int fd = 3; fd < 1024; fd++) close(fd);
    while (n < 500 && !pipe(pipes[n])) {
        (void)!write(pipes[n][1], "data", 4);
        n++;
    }
    VT_USER_START("outer");
    VT_USER_END("outer");
    for (int i = 0; i < n; i++) {
        char text[5] = "";
        fcntl(pipes[i][0], F_SETFL, O_NONBLOCK);
        if (read(pipes[i][0], text, 4) != 4 || strcmp(text, "data")) printf("lost the data of pipe %d\n", i);
    }
    printf("%d pipes\n", n);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "plain";
    touch(10);
    if (!strcmp(mode, "plain")) plain();
    else if (!strcmp(mode, "threads")) threads();
    else if (!strcmp(mode, "fork")) forks();
    else closes();
    return 0;
}
