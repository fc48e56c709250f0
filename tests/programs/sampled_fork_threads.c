/* SPDX-License-Identifier: BSD-3-Clause */
/* Four threads fork at the same time; then a library is loaded and unloaded. The program takes a fraction of a second, and
   ends itself after a minute. */
#include "program.h"

static void *forks(void *unused)
{
    (void)unused;
    for (int i = 0; i < 100; i++) {
        pid_t child = fork();
        if (!child) _exit(0);
        waitpid(child, NULL, 0);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[4];
    alarm(60);
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, forks, NULL);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    void *library = dlopen("libutil.so.1", RTLD_NOW);
    if (library) dlclose(library);
    puts("done");
    return 0;
}
