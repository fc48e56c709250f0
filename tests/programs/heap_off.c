/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks allocated and freed while recording is off, also by a thread that ends meanwhile. Prints the usable bytes by
   which the heap grows from begin() to end(), with 11 blocks. */
#include <malloc.h>
#include "program.h"

void vt_switch(int on); /* of the runtime */

static void *kept[11];

static KEEP void begin(void) { __asm__ volatile("# begin"); }
static KEEP void end(void) { __asm__ volatile("# end"); }
static KEEP void on(void) { kept[10] = malloc(77); }

static KEEP void off(int from, int to)
{
    for (int i = from; i < to; i++) {
        free(malloc(50));
        kept[i] = realloc(malloc(10), 1000 * (size_t)(i + 1));
    }
}

static QUIET void *body(void *unused)
{
    off(5, 10);
    return unused;
}

static QUIET void thread(void *(*function)(void *))
{
    pthread_t t;
    if (pthread_create(&t, NULL, function, NULL) || pthread_join(t, NULL)) abort();
}

static QUIET void *nothing(void *unused)
{
    free(malloc(1));
    return unused;
}

int main(void)
{
    size_t bytes = 0;
    thread(nothing); /* libc keeps its stack */
    begin();
    vt_switch(0);
    off(0, 5);
    thread(body);
    vt_switch(1);
    on();
    end();
    for (int i = 0; i < 11; i++) bytes += malloc_usable_size(kept[i]);
    printf("%zu\n", bytes);
    return 0;
}
