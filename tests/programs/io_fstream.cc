// SPDX-License-Identifier: BSD-3-Clause
// Streams of C++: the numbers from 0 to 9999, a line each, written and read back: 48 890 bytes.
#include <cstdio>
#include <fstream>

int main()
{
    {
        std::ofstream out("numbers");
        for (int i = 0; i < 10000; i++) out << i << '\n';
    }
    long sum = 0;
    int n;
    {
        std::ifstream in("numbers");
        while (in >> n) sum += n;
    }
    return std::remove("numbers") || sum != 49995000;
}
