/* SPDX-License-Identifier: BSD-3-Clause */
/* reloads SWITCHES LIBRARY...: a thread selects and excludes functions SWITCHES times by VT_FUNCTIONS, and on until a
   library was loaded between two switches SEEN times; until it has ended, the main thread loads each library in turn, calls its entry 3 times, unloads it, and calls between; another
   thread calls busy 100 times, and rests, all the time. All selections have main, between, entry and lib_leaf, and every second one has the
   others. Prints the number of loads. */
#include "vt_user.h"
#include "program.h"

#define ALWAYS "main;between;entry;lib_leaf"

#define SEEN 20

static atomic_int ended, switched, seen;
static __thread volatile int sink;

static KEEP void between(void) { sink++; }

static KEEP int busy(int i)
{
    sink += i;
    return i + 1;
}

static QUIET void *works(void *unused)
{
    for (int i = 0; !atomic_load(&ended); i = (i + 1) % 100) {
        if (busy(i) != i + 1) abort();
        if (i == 99) usleep(50);
    }
    return unused;
}

static QUIET void *switches(void *number)
{
    static const char *const patterns[] = {ALWAYS, ALWAYS ";*", "*;-lib_step;-busy", "-busy;-lib_*;-alpha;lib_leaf"};
    for (int i = 0; i < *(int *)number || atomic_load(&seen) < SEEN; i++) {
        VT_FUNCTIONS(patterns[i % 4]);
        atomic_store(&switched, i + 1);
    }
    atomic_store(&ended, 1);
    return NULL;
}

int main(int argc, char **argv)
{
    int number = atoi(argv[1]), loaded = 0, before = 0;
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, works, NULL);
    pthread_create(&threads[1], NULL, switches, &number);
    for (int i = 0; !atomic_load(&ended) || i % (argc - 2); i++) {
        void *library = dlopen(argv[2 + i % (argc - 2)], RTLD_NOW | RTLD_LOCAL);
        void (*entry)(int);
        if (!library) return 1;
        int now = atomic_load(&switched);
        if (now != before) atomic_fetch_add(&seen, 1);
        before = now;
        *(void **)&entry = dlsym(library, "entry");
        for (int k = 0; k < 3; k++) entry(k);
        dlclose(library);
        between();
        loaded++;
    }
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    printf("%d\n", loaded);
    return 0;
}
