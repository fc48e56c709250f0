// SPDX-License-Identifier: BSD-3-Clause
/* N times: fread calls the function of a cookie, which writes once and throws; the exception leaves fread, a local object
   of a caller writes in its destructor, and after the catch a function with a deep stack writes. Then N times a call of
   fread in which an exception begins and ends: the function writes, catches, writes, and fread returns. In all fread 2 N
   (N left), write 6 N: 3 N in fread. */
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <stdexcept>
#include <unistd.h>

namespace
{
constexpr int N = 5;
int null = -1;

void write_one()
{
    if (write(null, "x", 1) != 1) exit(2);
}

struct Writes {
    ~Writes() { write_one(); }
};

__attribute__((noinline)) void thrown() { throw std::runtime_error("left"); }

ssize_t cookie_read(void *inside, char *into, size_t)
{
    write_one();
    if (!inside) thrown();
    try {
        thrown();
    } catch (const std::exception &) {
        write_one();
    }
    *into = 'c';
    return 1;
}

__attribute__((noinline)) int reads(FILE *f)
{
    Writes at_end;
    char byte;
    return fread(&byte, 1, 1, f) == 1;
}

__attribute__((noinline)) void deeper()
{
    volatile char room[3000];
    room[0] = 1;
    write_one();
    room[1] = room[0];
}
} // namespace

int main()
{
    null = open("/dev/null", O_WRONLY);
    for (int inside = 0; inside < 2; inside++) {
        for (int i = 0; i < N; i++) {
            FILE *f = fopencookie(inside ? &null : nullptr, "r", {cookie_read, nullptr, nullptr, nullptr});
            setvbuf(f, nullptr, _IONBF, 0);
            try {
                reads(f);
            } catch (const std::exception &) {
                deeper();
            }
        }
    }
    std::puts("left");
    return 0;
}
