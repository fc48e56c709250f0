/* SPDX-License-Identifier: BSD-3-Clause */
/* Sections that nest, overlap, repeat and are not in pairs, in two threads. Also C++.
   tests/integration/test_sections.py has the expected records. */
#include <pthread.h>
#include <vt_user.h>

static void *thread(void *name)
{
    const char *text = (const char *)name;
    (void)text; /* without -DVTRACE */
    VT_SECTION_START(text, 1, 0);
    VT_SECTION_START("left", 1, 0);
    VT_SECTION_STOP(text, 1, 0);
    return name;
}

static void run_thread(const char *name)
{
    pthread_t started;
    pthread_create(&started, 0, thread, (void *)name);
    pthread_join(started, 0);
}

int main(void)
{
    VT_SECTION_START("outer", 1, 0);
    VT_SECTION_START("cross", 2, 0);
    VT_SECTION_STOP("outer", 1, 0);
    VT_SECTION_STOP("cross", 2, 0);
    VT_SECTION_START("hidden", 1, 1);
    VT_SECTION_STOP("hidden", 1, 1);
    VT_SECTION_START("again", 1, 0);
    VT_SECTION_START("again", 2, 0);
    VT_SECTION_START("again", 1, 0);
    VT_SECTION_STOP("again", 1, 0);
    VT_SECTION_STOP("again", 2, 0);
    VT_SECTION_STOP("again", 1, 0);
    VT_SECTION_STOP("never", 1, 0);
    VT_SECTION_START("off", 1, 0);
    VT_OFF();
    VT_SECTION_STOP("off", 1, 0);
    VT_ON();
    for (int i = 0; i < 2; i++) {
        VT_SECTION_START("off", 1, 0);
        VT_SECTION_STOP("off", 1, 0);
    }
    run_thread("outer");
    run_thread("left"); /* the thread before has left this section open */
    VT_SECTION_START("open", -7, 0);
    return 0;
}
