/* SPDX-License-Identifier: BSD-3-Clause */
/* frees_environ [setenv|once]: replaces environ by an array of its own, starts two shells by libc, while another thread
   changes the environment if asked, and frees the array. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static atomic_int is_done;

static void *change_once(void *unused)
{
    usleep(50000);
    setenv("HOME", "/new", 1);
    unsetenv("LOGNAME");
    return unused;
}

static void *change(void *unused)
{
    for (char value[16]; !atomic_load(&is_done); usleep(1000)) {
        snprintf(value, sizeof value, "%d", rand());
        setenv("CHANGES", value, 1);
    }
    return unused;
}

__attribute__((noinline)) static void free_all(char **array)
{
    for (char **entry = array; *entry; entry++) free(*entry);
    free(array);
}

int main(int argc, char **argv)
{
    size_t n = 0;
    char word[8] = "";
    pthread_t thread;
    while (environ[n]) n++;
    char **own = malloc((n + 1) * sizeof *own);
    for (size_t i = 0; i < n; i++) own[i] = strdup(environ[i]);
    own[n] = NULL;
    environ = own;
    int changes = argc > 1;
    setenv("HOME", "/old", 1);
    setenv("LOGNAME", "old", 1);
    if (argc > 1)
        setenv("CHANGES", "0", 1); /* From here on, setenv leaves the array in place: libc's child reads it. */
    if (!changes) environ = own;
    if (changes) pthread_create(&thread, NULL, strcmp(argv[1], "once") ? change : change_once, NULL);
    int code = WEXITSTATUS(system("sleep 0.1; exit 3"));
    FILE *pipe = popen("echo hello", "r");
    if (!fgets(word, sizeof word, pipe)) return 1;
    pclose(pipe);
    atomic_store(&is_done, 1);
    if (changes) pthread_join(thread, NULL);
    printf("%d %s", code, word);
    if (changes) printf("%s %s\n", getenv("HOME"), getenv("LOGNAME") ? "set" : "unset");
    if (changes) return 0;
    printf("%s\n", environ == own ? "own" : "another");
    free_all(environ);
    environ = NULL;
    return 5;
}
