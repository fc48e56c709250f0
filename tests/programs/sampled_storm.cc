// SPDX-License-Identifier: BSD-3-Clause
// sampled_storm DIRECTORY: situations in which a sample may come at a bad moment: many short threads, exceptions,
// siglongjmp out of handlers, coroutines, libraries that are loaded and unloaded, forks, a storm of other signals, malloc.
// Prints a checksum, which does not depend on samples. DIRECTORY holds libsampled_plugin.so.
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static volatile int handled;
static sigjmp_buf back;
static long sum;

static void spin(int n)
{
    for (volatile int i = 0; i < n; i++) continue;
}

static int thrower(int depth)
{
    std::string text(depth + 1, 'x');
    spin(2000);
    if (!depth) throw std::runtime_error(text);
    return thrower(depth - 1) + (int)text.size();
}

static void exceptions()
{
    for (int i = 0; i < 200; i++) {
        try {
            sum += thrower(i % 30);
        } catch (const std::runtime_error &error) {
            sum += (long)strlen(error.what());
        }
    }
}

static void *short_thread(void *number)
{
    char *memory = (char *)malloc(1000);
    memset(memory, 1, 1000);
    spin(20000);
    long found = memory[(long)number % 1000];
    free(memory);
    return (void *)found;
}

static void threads()
{
    for (int round = 0; round < 10; round++) {
        pthread_t all[50];
        for (long i = 0; i < 50; i++) pthread_create(&all[i], nullptr, short_thread, (void *)i);
        for (pthread_t one : all) {
            void *result;
            pthread_join(one, &result);
            sum += (long)result;
        }
    }
}

static void count_signal(int) { handled = handled + 1; }
static void jump_out(int)
{
    spin(3000);
    siglongjmp(back, 1);
}

static void jumps()
{
    static char memory[65536];
    stack_t other = {};
    struct sigaction action = {};
    other.ss_sp = memory;
    other.ss_size = sizeof memory;
    sigaltstack(&other, nullptr);
    action.sa_handler = jump_out;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR2, &action, nullptr);
    for (volatile int i = 0; i < 300; i++) {
        if (sigsetjmp(back, 1)) sum++;
        else raise(SIGUSR2);
    }
}

static ucontext_t main_context, coroutine;

static void in_coroutine()
{
    for (;;) {
        spin(30000);
        sum++;
        swapcontext(&coroutine, &main_context);
    }
}

// The stack of each coroutine is unmapped, and another one may get its place.
static void coroutines()
{
    for (int i = 0; i < 50; i++) {
        const size_t bytes = 65536;
        void *stack = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        getcontext(&coroutine);
        coroutine.uc_stack.ss_sp = stack;
        coroutine.uc_stack.ss_size = bytes;
        makecontext(&coroutine, in_coroutine, 0);
        for (int turn = 0; turn < 3; turn++) swapcontext(&main_context, &coroutine);
        munmap(stack, bytes);
    }
}

static void plugins(const char *directory)
{
    const std::string path = std::string(directory) + "/libsampled_plugin.so";
    for (int i = 0; i < 60; i++) {
        void *library = dlopen(path.c_str(), RTLD_NOW);
        if (!library) exit(3);
        auto function = (int (*)(int))dlsym(library, "plugin_work");
        sum += function(20000);
        dlclose(library);
    }
}

static void forks()
{
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (!child) {
            spin(200000);
            _exit(i % 2);
        }
        int status;
        while (waitpid(child, &status, 0) < 0) continue;
        sum += WEXITSTATUS(status);
    }
    pid_t child = vfork();
    if (!child) {
        execl("/bin/true", "true", (char *)nullptr);
        _exit(9);
    }
    int status;
    while (waitpid(child, &status, 0) < 0) continue;
    sum += WEXITSTATUS(status);
}

int main(int, char **argv)
{
    struct sigaction action = {};
    struct itimerval storm = {{0, 200}, {0, 200}};
    action.sa_handler = count_signal;
    action.sa_flags = SA_RESTART;
    sigaction(SIGPROF, &action, nullptr);
    setitimer(ITIMER_PROF, &storm, nullptr);
    exceptions();
    threads();
    jumps();
    coroutines();
    plugins(argv[1]);
    forks();
    printf("%ld\n", sum);
    return 0;
}
