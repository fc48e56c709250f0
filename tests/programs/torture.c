/* SPDX-License-Identifier: BSD-3-Clause */
/* torture FILE SEED: main, threads that start and end, and forked children each call a function of their own, w00 to
   w31, and count each finished call in a long of FILE, which belongs to the function. FILE is mapped, so the counts
   outlive any end. In between main starts threads and children and writes its buffer, at random from SEED. A child ends
   by _exit, exit, SIGKILL or abort. main returns while some threads still exist. Calls after that would not be in the
   trace, so these threads make none. */
#include "vt_user.h"
#include "program.h"

#define SLOTS 32
static volatile long sink;
static _Atomic long *counts;
static _Atomic int calling, over; /* number of threads inside a call; main is about to return */
static uint64_t state;

/* clang-format off */
#define EACH(X) X(00) X(01) X(02) X(03) X(04) X(05) X(06) X(07) X(08) X(09) X(10) X(11) X(12) X(13) X(14) X(15) \
                X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31)
#define DEFINE(n) KEEP void w##n(long i) { sink = i; }
#define NAME(n) w##n,
EACH(DEFINE)
static void (*const functions[SLOTS])(long) = {EACH(NAME)};
/* clang-format on */

static QUIET unsigned chance(uint64_t *s, unsigned below)
{
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*s >> 33) % below;
}

static QUIET void calls(int slot, long n)
{
    for (long i = 0; i < n; i++) {
        atomic_fetch_add(&calling, 1);
        if (atomic_load(&over)) {
            atomic_fetch_sub(&calling, 1);
            for (;;) pause();
        }
        functions[slot](i);
        atomic_fetch_add_explicit(&counts[slot], 1, memory_order_release);
        atomic_fetch_sub(&calling, 1);
        for (int k = 0; k < 300; k++) sink = k;
    }
}

static QUIET void *thread(void *argument)
{
    int slot = (int)(intptr_t)argument;
    uint64_t own = state + (uint64_t)slot;
    for (int i = (int)chance(&own, 5); i >= 0; i--) {
        calls(slot, 1 + chance(&own, 80));
        if (!chance(&own, 4)) VT_BUFFER_FLUSH();
        if (!chance(&own, 4)) usleep(chance(&own, 2000));
    }
    return 0;
}

static QUIET void child(int slot)
{
    calls(slot, chance(&state, 60));
    if (!chance(&state, 3)) VT_BUFFER_FLUSH();
    switch (chance(&state, 4)) {
    case 0: _exit(0);
    case 1: exit(0);
    case 2: kill(getpid(), SIGKILL); break;
    default: abort();
    }
}

QUIET int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    int fd = open(argv[1], O_RDWR), slot = 1;
    counts = fd < 0 ? MAP_FAILED : mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (counts == MAP_FAILED) return 1;
    state = strtoull(argv[2], 0, 10);
    for (int step = 20 + (int)chance(&state, 20); step > 0; step--) {
        pthread_t new;
        calls(0, chance(&state, 60));
        int what = (int)chance(&state, 8);
        if (what < 3 && slot < SLOTS && !pthread_create(&new, 0, thread, (void *)(intptr_t)slot)) {
            slot++;
            if (chance(&state, 2)) pthread_detach(new);
            else pthread_join(new, 0);
        } else if (what == 3 && slot < SLOTS) {
            int mine = slot++;
            pid_t pid = fork();
            if (pid == 0) child(mine);
            if (pid > 0 && chance(&state, 2)) waitpid(pid, 0, 0);
        } else if (what == 4) {
            VT_BUFFER_FLUSH();
        }
    }
    atomic_store(&over, 1);
    while (atomic_load(&calling)) usleep(10);
    return 0;
}
