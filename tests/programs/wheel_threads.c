/* SPDX-License-Identifier: BSD-3-Clause */
/* Three threads, each of which writes one file of two bytes. */
#include "program.h"

static void *work(void *name)
{
    FILE *file = fopen(name, "w");
    if (file) {
        fwrite("x\n", 1, 2, file);
        fclose(file);
    }
    return NULL;
}

int main(void)
{
    char names[3][8] = {"one", "two", "three"};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, work, names[i]);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    return 0;
}
