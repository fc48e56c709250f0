/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of libc that do not return. N times: a call waits, SIGALRM interrupts it, and the handler leaves it in the way
   of argv[2]; then the program calls one function that writes once, and writes once itself. In all N calls of argv[1]
   are left, and 2 N writes are made by the program. argv[2]:
   jump: siglongjmp; stack: siglongjmp from an alternate stack; builtin: __builtin_longjmp, of which no library learns;
   context: setcontext; cancel: no signal, the thread is cancelled, and its cleanup handler writes, too (N writes more)
   argv[1] coroutine: nothing is left. N times: fread calls the function of a cookie, which changes to a coroutine; this
   writes, changes back, and fread returns. */
#define _GNU_SOURCE
#include <semaphore.h>
#include <setjmp.h>
#include <sys/socket.h>
#include <ucontext.h>
#include "program.h"

enum { N = 5 };

static sigjmp_buf back;
static void *builtin_back[5];
static ucontext_t at, coroutine, outside;
static volatile sig_atomic_t left;
static const char *how;
static int null, ends[2], sockets[2];
static FILE *stream;
static sem_t sem;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void on_alarm(int number)
{
    (void)number;
    left = 1;
    if (!strcmp(how, "builtin")) __builtin_longjmp(builtin_back, 1);
    if (!strcmp(how, "context")) setcontext(&at);
    siglongjmp(back, 1);
}

static void write_one(void)
{
    if (write(null, "x", 1) != 1) exit(2);
}

__attribute__((noinline)) static void deeper(void)
{
    volatile char room[3000];
    room[0] = 1;
    write_one();
    room[1] = room[0];
}

static void alarm_soon(void)
{
    struct itimerval it = {{0, 20000}, {0, 20000}};
    setitimer(ITIMER_REAL, &it, NULL);
}

static void alarm_off(void)
{
    struct itimerval it = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &it, NULL);
}

static void wait_in(const char *call)
{
    char byte;
    int status;
    if (!strcmp(call, "read") && read(ends[0], &byte, 1)) exit(3);
    if (!strcmp(call, "recv") && recv(sockets[0], &byte, 1, 0)) exit(3);
    if (!strcmp(call, "fread") && fread(&byte, 1, 1, stream)) exit(3);
    if (!strcmp(call, "wait") && wait(&status)) exit(3);
    if (!strcmp(call, "sem_wait") && sem_wait(&sem)) exit(3);
    if (!strcmp(call, "pthread_mutex_lock") && pthread_mutex_lock(&mutex)) exit(3);
}

__attribute__((noinline)) static void leave_builtin(const char *call)
{
    if (!__builtin_setjmp(builtin_back)) {
        alarm_soon();
        wait_in(call);
    }
}

__attribute__((noinline)) static void leave_context(const char *call)
{
    left = 0;
    getcontext(&at);
    if (left) return;
    alarm_soon();
    wait_in(call);
}

__attribute__((noinline)) static void leave_jump(const char *call)
{
    if (!sigsetjmp(back, 1)) {
        alarm_soon();
        wait_in(call);
    }
}

static void in_cleanup(void *none)
{
    (void)none;
    deeper();
}

static void *thread(void *call)
{
    pthread_cleanup_push(in_cleanup, NULL);
    sem_post(&sem);
    wait_in(call);
    pthread_cleanup_pop(0);
    return NULL;
}

static void leave_cancelled(const char *call)
{
    pthread_t id;
    sem_t unused;
    pthread_create(&id, NULL, thread, (void *)(size_t)call);
    sem_init(&unused, 0, 0);
    while (sem_wait(&sem)) continue;
    usleep(20000); /* the call waits by then; if not, the thread is cancelled when the call begins */
    pthread_cancel(id);
    pthread_join(id, NULL);
}

static void body(void)
{
    for (;;) {
        write_one();
        swapcontext(&coroutine, &outside);
    }
}

static ssize_t cookie_read(void *cookie, char *into, size_t n)
{
    (void)cookie;
    (void)n;
    swapcontext(&outside, &coroutine);
    write_one();
    *into = 'c';
    return 1;
}

static void coroutines(void)
{
    cookie_io_functions_t functions = {.read = cookie_read};
    FILE *f = fopencookie(NULL, "r", functions);
    char byte;
    setvbuf(f, NULL, _IONBF, 0);
    getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = malloc(1 << 18);
    coroutine.uc_stack.ss_size = 1 << 18;
    makecontext(&coroutine, body, 0);
    for (int i = 0; i < N; i++)
        if (fread(&byte, 1, 1, f) != 1) exit(4);
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_NODEFER};
    if (argc < 3) return 1;
    how = argv[2];
    null = open("/dev/null", O_WRONLY);
    if (null < 0 || pipe(ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets)) return 1;
    stream = fdopen(ends[0], "r");
    sem_init(&sem, 0, 0);
    if (!strcmp(argv[1], "coroutine")) {
        coroutines();
        printf("left\n");
        return 0;
    }
    if (!strcmp(argv[1], "pthread_mutex_lock")) pthread_mutex_lock(&mutex);
    pid_t child = fork();
    if (!child) {
        pause();
        _exit(0);
    }
    if (!strcmp(how, "stack")) {
        stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
        sigaltstack(&stack, NULL);
        action.sa_flags |= SA_ONSTACK;
    }
    sigaction(SIGALRM, &action, NULL);
    for (int i = 0; i < N; i++) {
        if (!strcmp(how, "builtin")) leave_builtin(argv[1]);
        else if (!strcmp(how, "context")) leave_context(argv[1]);
        else if (!strcmp(how, "cancel")) leave_cancelled(argv[1]);
        else leave_jump(argv[1]);
        alarm_off();
        if (!strcmp(argv[1], "fread")) funlockfile(stream);
        deeper();
        write_one();
    }
    kill(child, SIGKILL);
    printf("left\n");
    return 0;
}
