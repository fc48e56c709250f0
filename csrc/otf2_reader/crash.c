/* SPDX-License-Identifier: BSD-3-Clause */
/* Damaged archives can make libotf2 abort or crash. While an archive is open, such an end tells which one was read. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "readback.h"

static const int ends[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
#define ENDS (sizeof ends / sizeof *ends)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction before[ENDS];
static int is_set[ENDS];
static char lines[2][4096]; /* a handler reads one while the other is filled */
static const char *_Atomic line;

static void tell(int signal)
{
    (void)signal;
    const char *text = line;
    ssize_t written = text ? write(STDERR_FILENO, text, strlen(text)) : 0;
    (void)written;
    _exit(1);
}

/* The process writes text and exits with 1 when one of the signals would end it; NULL: the signals act as before. A
   handler of the program, such as Python's faulthandler, stays. */
VT_EXPORT void vt_readback_crash_text(const char *text)
{
    pthread_mutex_lock(&lock);
    char *next = lines[line == lines[0]];
    if (text) {
        snprintf(next, sizeof *lines, "%s", text);
        line = next;
    }
    struct sigaction here, telling = {.sa_handler = tell, .sa_flags = SA_NODEFER};
    for (size_t i = 0; i < ENDS; i++) {
        if (sigaction(ends[i], NULL, &here)) continue;
        if (text && !is_set[i] && here.sa_handler == SIG_DFL && !sigaction(ends[i], &telling, &before[i]))
            is_set[i] = 1;
        if (!text && is_set[i] && here.sa_handler == tell) sigaction(ends[i], &before[i], NULL);
        if (!text) is_set[i] = 0;
    }
    pthread_mutex_unlock(&lock);
}

/* ---- Times ---- */

/* Times on the clocks of hosts. */

VT_EXPORT void vt_host_times(int64_t *times, uint64_t n, const int64_t *from, const int64_t *to, uint64_t knots)
{
    uint64_t at = 0;
    for (uint64_t i = 0; i < n; i++) {
        int64_t t = times[i];
        if (t < from[at] || t >= from[at + 1]) {
            uint64_t low = 0, high = knots - 1;
            while (high - low > 1) {
                uint64_t middle = low + (high - low) / 2;
                if (from[middle] <= t) low = middle;
                else high = middle;
            }
            at = low;
        }
        __int128 product = ((__int128)t - from[at]) * ((__int128)to[at + 1] - to[at]);
        __int128 run = (__int128)from[at + 1] - from[at], quotient = product / run;
        quotient += to[at] - (product < 0 && product % run);
        times[i] = quotient > INT64_MAX ? INT64_MAX : quotient < INT64_MIN ? INT64_MIN : (int64_t)quotient;
    }
}
