/* SPDX-License-Identifier: BSD-3-Clause */
/* secret SECRET...: each name and text that the program gives contains "secret": functions, variables, files, threads,
   and by the user API regions, groups, files of the source, communicators, counters, markers and comments. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/prctl.h>
#include "program.h"
#include "vt_user.h"

static pthread_mutex_t secret_lock = PTHREAD_MUTEX_INITIALIZER;

KEEP void secret_write(void)
{
    FILE *f = fopen("secret_file", "w");
    fputs("secret content", f);
    fclose(f);
    remove("secret_file");
}

KEEP void secret_wait(void)
{
    pthread_mutex_lock(&secret_lock);
    usleep(20000);
    pthread_mutex_unlock(&secret_lock);
}

static void *secret_thread(void *none)
{
    prctl(PR_SET_NAME, "secret-thread");
    secret_wait();
    return none;
}

static void secret_user(void)
{
    unsigned int counter = VT_COUNT_DEF("secret counter", "secret unit", VT_COUNT_TYPE_SIGNED, VT_COUNT_DEFGROUP);
    unsigned int marker = VT_MARKER_DEF("secret marker", VT_MARKER_TYPE_HINT), queue = VT_MSG_COMM_DEF("secret queue");
    unsigned int region = VT_USER_DEF("secret region", "secret group", "secret.f", 77);
    VT_COUNT_SIGNED_VAL(counter, 3);
    VT_COMMENT_DEF("secret comment");
    VT_COMMENT("secret remark");
    VT_MARKER(marker, "secret event");
    VT_USER_START2(region);
    VT_MSG_SEND(queue, 5, 80);
    VT_MSG_RECV(queue, 5, 80);
    VT_USER_END2(region);
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, secret_thread, NULL);
    secret_wait();
    pthread_join(thread, NULL);
    secret_user();
    secret_write();
    for (volatile long i = 0; i < 100000000; i++);
    return 0;
}
