/* SPDX-License-Identifier: BSD-3-Clause */
/* stops HOW CALLS: main 1 -> work CALLS. HOW: end; nofile (no file can be opened from the start on); killed (kills
   itself after the calls); exec (as killed, after an exec that fails in the middle); off (recording is off for a third
   of the calls, with -DVTRACE); flickers (recording is off for a while after each call, with -DVTRACE); naps (a pause
   of a millisecond after each call). Prints "done CALLS" before its end. */
#include "vt_user.h"
#include "program.h"

static volatile long sink;

KEEP void work(long i) { sink += i; }

static QUIET void calls(long n)
{
    for (long i = 0; i < n; i++) work(i);
}

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    const char *how = argv[1];
    long n = atol(argv[2]);
    int killed = !strcmp(how, "killed"), exec = !strcmp(how, "exec");
    struct rlimit none = {3, 3};
    if (!strcmp(how, "nofile")) setrlimit(RLIMIT_NOFILE, &none);
    if (exec) {
        char *words[] = {"missing", NULL};
        calls(n / 2);
        execv("/nowhere/missing", words);
        n -= n / 2;
    }
    if (!strcmp(how, "off")) {
        calls(n / 3);
        VT_OFF();
        calls(n / 3);
        VT_ON();
        n -= 2 * (n / 3);
    }
    for (long i = 0; i < n && !strcmp(how, "flickers"); i++) {
        work(i);
        VT_OFF();
        work(i);
        VT_ON();
    }
    for (long i = 0; i < n && !strcmp(how, "naps"); i++) {
        work(i);
        usleep(1000);
    }
    if (strcmp(how, "naps") && strcmp(how, "flickers")) calls(n);
    printf("done %s\n", argv[2]);
    fflush(stdout);
    if (killed || exec) kill(getpid(), SIGKILL);
    return 0;
}
