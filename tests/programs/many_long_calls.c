/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits in read at 70 places, at the first for 50 ms, at the others for 1 ms each, then at one more for 200 ms. */
#include <stdlib.h>
#include <unistd.h>

static int ends[2];
static char letter;

#define TAKE \
    if (read(ends[0], &letter, 1) != 1) abort();
#define TEN TAKE TAKE TAKE TAKE TAKE TAKE TAKE TAKE TAKE TAKE

int main(void)
{
    if (pipe(ends)) return 1;
    if (!fork()) {
        for (int i = 0; i < 75; i++) {
            usleep(i == 0 ? 50000 : i < 70 ? 1000 : 40000);
            if (write(ends[1], "a", 1) != 1) return 1;
        }
        return 0;
    }
    TEN TEN TEN TEN TEN TEN TEN
    for (int i = 0; i < 5; i++) TAKE
    return 0;
}
