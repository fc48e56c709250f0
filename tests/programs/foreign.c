/* SPDX-License-Identifier: BSD-3-Clause */
/* For archives of other tools: 2 threads that take a mutex 10 times each; then 5 times 100 bytes into a file. */
#include "program.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *take(void *nothing)
{
    for (int i = 0; i < 10; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    return nothing;
}

int main(void)
{
    char bytes[100] = {0};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, take, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    int fd = open("file", O_RDWR | O_CREAT, 0600);
    for (int i = 0; i < 5; i++)
        if (write(fd, bytes, sizeof bytes) != sizeof bytes) return 1;
    close(fd);
    return 0;
}
