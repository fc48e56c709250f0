/* SPDX-License-Identifier: BSD-3-Clause */
/* Asks the controller of VT_BUDGET (csrc/core/budget.c) for its choices. Each line of stdin begins with a letter:
     p BUDGET LOCATIONS       a new process that begins at 0 ns
     w RAW STORED             blocks are written
     c NOW WRITTEN ROWS CHUNKS FROM WORDS W0 ... W32
                              a full chunk of location 0, as vt_budget_choose sees it; CHUNKS: of each location
     t BEGUN ENDED            a thread of a team begins nested tasks, and ends some of them
   A line c is answered by: 1 if bytes are short, else 0; the limit in bits; the size at which recording ends. A line t is
   answered by the number of levels that are open in call paths. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../csrc/core/location.h"

static uint64_t number(void)
{
    unsigned long long n;
    if (scanf("%llu", &n) != 1) exit(1);
    return n;
}

static void begin(struct vt_thin *t)
{
    vt_process.set.budget = number();
    vt_process.head.pair.mono = 0;
    atomic_store(&vt_process.locations, (uint32_t)number());
    for (uint32_t i = 0; i < atomic_load(&vt_process.locations); i++) {
        if (!atomic_load(&vt_locations[i])) atomic_store(&vt_locations[i], calloc(1, sizeof(struct vt_location)));
        atomic_load(&vt_locations[i])->thin = t;
    }
    memset(t, 0, sizeof *t);
}

static void choose(struct vt_thin *t)
{
    const uint64_t now = number();
    atomic_store(&vt_process.written, number());
    atomic_store(&vt_process.profile_rows, (uint32_t)number());
    const uint32_t chunks = (uint32_t)number();
    for (uint32_t i = 0; i < atomic_load(&vt_process.locations); i++) atomic_load(&vt_locations[i])->chunks = chunks;
    t->from = (uint32_t)number();
    t->words = number();
    for (uint32_t i = 0; i <= VT_THIN_BITS; i++) t->by_bits[i] = number();
    const int is_short = vt_budget_is_short(now);
    vt_budget_choose(t, now);
    printf("%d %u %llu\n", is_short, t->bits, (unsigned long long)vt_budget_limit());
}

static void nest_tasks(void)
{
    const uint64_t words[2] = {UINT64_C(1) << 32, 0}; /* nesting 1 */
    const uint32_t task = 7;
    struct vt_thin_levels levels = {0};
    vt_thin_team(&levels, VT_WHAT(VT_K_THREAD_TEAM_BEGIN, 0, 0), words, 0);
    for (uint64_t begun = number(); begun; begun--)
        vt_thin_team(&levels, VT_WHAT(VT_K_THREAD_TASK_BEGIN, 0, task), words, 0);
    for (uint64_t ended = number(); ended; ended--)
        vt_thin_team(&levels, VT_WHAT(VT_K_THREAD_TASK_END, 0, task), words, 0);
    printf("%u\n", levels.n);
}

int main(void)
{
    static struct vt_thin t;
    char what;
    while (scanf(" %c", &what) == 1) {
        if (what == 'p') begin(&t);
        else if (what == 'c') choose(&t);
        else if (what == 't') nest_tasks();
        else {
            const uint64_t raw = number();
            vt_budget_wrote(raw, number());
        }
    }
    return 0;
}
