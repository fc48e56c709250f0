/* SPDX-License-Identifier: BSD-3-Clause */
/* ends_last HOW LIBRARY: opens a file in main, in a handler of atexit, of on_exit and at_quick_exit, and in a destructor; the
   library, this source with -DLIB, in an exit handler and in a destructor. main ends by HOW: return, quick_exit, thread
   (another thread calls exit), last (main ends before the last thread), fork or _Fork (a child calls exit, then main
   returns); dlclose: main unloads the library first. The constructor of the library also calls on_exit if EARLY is set:
   its handlers are libc's last. */
#define _GNU_SOURCE
#include "program.h"

static void use_file(void) { close(open("/dev/null", O_WRONLY)); }

static void use_at_exit(int code, void *unused)
{
    (void)code;
    (void)unused;
    use_file();
}

__attribute__((destructor)) static void destroy(void) { use_file(); }

#ifdef LIB
__attribute__((constructor)) static void construct(void)
{
    if (getenv("EARLY")) on_exit(use_at_exit, NULL);
    atexit(use_file);
    at_quick_exit(use_file);
}
#else
static void *leave(void *pause)
{
    if (pause) usleep(20000);
    else exit(0);
    return NULL;
}

static void in_child(pid_t child)
{
    if (!child) exit(0);
    waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    const char *how = argc == 3 ? argv[1] : "";
    void *library = dlopen(argv[argc - 1], RTLD_NOW);
    pthread_t thread;
    if (!library) return 2;
    use_file();
    atexit(use_file);
    on_exit(use_at_exit, NULL);
    at_quick_exit(use_file);
    if (!strcmp(how, "dlclose")) dlclose(library);
    if (!strcmp(how, "fork")) in_child(fork());
    if (!strcmp(how, "_Fork")) in_child(_Fork());
    if (!strcmp(how, "quick_exit")) quick_exit(0);
    if (!strcmp(how, "thread")) {
        pthread_create(&thread, NULL, leave, NULL);
        pthread_join(thread, NULL);
    }
    if (!strcmp(how, "last")) {
        pthread_create(&thread, NULL, leave, argv);
        pthread_exit(NULL);
    }
    return 0;
}
#endif
