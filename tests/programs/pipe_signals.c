/* SPDX-License-Identifier: BSD-3-Clause */
/* pipe_signals COUNT: a thread sends COUNT signals SIGPIPE to the main thread, one after the other, while the main thread
 * opens files. Prints how many signals the main thread got. */
#include "program.h"

static atomic_int got, done;
static pthread_t whole;
static int count;

static void on_signal(int number)
{
    (void)number;
    got++;
}

static void *send(void *unused)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    for (int i = 0; i < count && got == i; i++) {
        struct timespec wait = {0, 20000};
        pthread_kill(whole, SIGPIPE);
        for (int tries = 0; got == i && tries < 20000; tries++) nanosleep(&wait, NULL);
    }
    done = 1;
    return unused;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    pthread_t sender;
    char name[64];
    count = argc > 1 ? atoi(argv[1]) : 1000;
    whole = pthread_self();
    sigaction(SIGPIPE, &action, NULL);
    pthread_create(&sender, NULL, send, NULL);
    for (int i = 0; !done; i++) {
        snprintf(name, sizeof name, "/proc/self/fd/../task/../nothing%d", i);
        close(open(name, O_RDONLY));
        snprintf(name, sizeof name, "made%d", i % 50);
        close(open(name, O_CREAT | O_WRONLY, 0600));
    }
    pthread_join(sender, NULL);
    printf("%d\n", got);
    return 0;
}
