// SPDX-License-Identifier: BSD-3-Clause
/* unwinds HOW [TIMES [MICROSECONDS]]: exceptions through five frames. main 1 -> (catcher 1 -> f1 -> f2 -> f3 -> f4 -> f5,
   landed 1; settled 1) TIMES times. f5 throws; landed is called where the exception lands, after MICROSECONDS of work.
   plain: catcher catches. quiet: so does a function without hooks, quiet, which main calls in place of catcher, so that
   landed is called by main. caught: f3 catches. rethrown: f3 catches, calls seen 1 and rethrows, catcher catches.
   replaced: f3 catches and throws another exception, catcher catches. cleanup: f2 and f4 have a Local, so ~Local 2.
   nested: the same, and ~Local calls g1 1 -> g2 1, which throws; ~Local catches and calls seen 1. foreign: f3 calls
   qsort, which calls compare 1 -> f4. pointer: f1 catches all and calls f2 again, out of whose second call catcher gets
   the first exception: f2 2, f3 2, f4 2, f5 2. cancelled: a thread calls catcher -> f1 ... f5, which ends the thread by
   pthread_exit; f2 and f4 have a Local. thread: three threads do "cleanup", so all is threefold but main.
   noexcept: f1 calls f2_never instead of f2, which lets no exception out: stopped 1, called by std::terminate; exit. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <pthread.h>
#include <stdexcept>
#include "keep.h"

static thread_local volatile int sink;
static const char *how;
static int times, microseconds;

static QUIET bool is(const char *name) { return !strcmp(how, name); }

static QUIET long now()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static KEEP void landed() { sink = sink + 2; }

static KEEP void seen() { sink = sink + 3; }

static KEEP void settled() { sink = sink + 4; }

static QUIET KEEP void at_landing()
{
    for (long begin = now(); now() - begin < microseconds;) {}
    landed();
}

static KEEP void g2()
{
    if (times) throw 5;
    sink = sink + 1;
}

static KEEP void g1()
{
    g2();
    sink = sink + 1;
}

struct Local {
    KEEP ~Local()
    {
        sink = sink + 1;
        if (!is("nested")) return;
        try {
            g1();
        } catch (int) {
            seen();
        }
    }
};

static KEEP void f5()
{
    if (is("cancelled")) pthread_exit(nullptr);
    if (times) throw std::runtime_error("deep");
    sink = sink + 1;
}

static KEEP void f4()
{
    if (is("cleanup") || is("nested") || is("cancelled") || is("thread")) {
        Local local;
        f5();
        sink = sink + 1;
    } else f5();
    sink = sink + 1;
}

static KEEP int compare(const void *, const void *)
{
    f4();
    return sink;
}

static KEEP void f3()
{
    int two[2] = {2, 1};
    if (is("caught")) {
        try {
            f4();
        } catch (const std::exception &) {
            at_landing();
        }
    } else if (is("rethrown")) {
        try {
            f4();
        } catch (...) {
            seen();
            throw;
        }
    } else if (is("replaced")) {
        try {
            f4();
        } catch (const std::runtime_error &) {
            throw std::logic_error("other");
        }
    } else if (is("foreign")) qsort(two, 2, sizeof two[0], compare);
    else f4();
    sink = sink + 1;
}

static KEEP void f2()
{
    if (is("cleanup") || is("nested") || is("cancelled") || is("thread")) {
        Local local;
        f3();
        sink = sink + 1;
    } else f3();
    sink = sink + 1;
}

static KEEP void f2_never() noexcept
{
    f3();
    sink = sink + 1;
}

static KEEP void f1()
{
    if (is("noexcept")) f2_never();
    else if (is("pointer")) {
        std::exception_ptr first;
        try {
            f2();
        } catch (...) {
            first = std::current_exception();
        }
        try {
            f2();
        } catch (...) {
            std::rethrow_exception(first);
        }
    } else f2();
    sink = sink + 1;
}

static KEEP void catcher()
{
    try {
        f1();
    } catch (const std::exception &) {
        at_landing();
    }
    sink = sink + 1;
}

static QUIET KEEP void quiet()
{
    try {
        f1();
    } catch (const std::exception &) {
        at_landing();
    }
    sink = sink + 1;
}

static QUIET void *in_thread(void *)
{
    for (int i = 0; i < (is("cancelled") ? 1 : times); i++) {
        catcher();
        settled();
    }
    return nullptr;
}

static KEEP void stopped()
{
    sink = sink + 1;
    exit(0);
}

int main(int argc, char **argv)
{
    how = argc > 1 ? argv[1] : "plain";
    times = argc > 2 ? atoi(argv[2]) : 1;
    microseconds = argc > 3 ? atoi(argv[3]) : 0;
    if (is("noexcept")) std::set_terminate(stopped);
    if (is("thread") || is("cancelled")) {
        pthread_t threads[3];
        for (pthread_t &thread : threads) pthread_create(&thread, nullptr, in_thread, nullptr);
        for (pthread_t thread : threads) pthread_join(thread, nullptr);
    } else {
        for (int i = 0; i < times; i++) {
            if (is("quiet")) quiet();
            else catcher();
            settled();
        }
    }
    std::printf("done %d\n", times);
    return 0;
}
