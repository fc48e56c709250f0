// SPDX-License-Identifier: BSD-3-Clause
// Counts words of pages with two threads and one table. A thread holds the table's lock for a whole page, also while
// it composes the words, so the threads take turns. Compile with -DMENDED for a table of each thread.
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <thread>

struct Table {
    std::map<std::string, long> counts;
};

constexpr int PAGES = 300, WORDS = 10000;

std::mutex lock;
Table all;

void count_page(unsigned seed, Table &table)
{
    for (int i = 0; i < WORDS; i++) {
        char word[9] = "";
        for (int letter = 0; letter < 8; letter++) {
            seed = seed * 1103515245 + 12345;
            word[letter] = static_cast<char>('a' + (seed >> 16) % 3);
        }
        table.counts[word]++;
    }
}

void work(int first)
{
#ifdef MENDED
    Table own;
    for (int page = first; page < PAGES; page += 2) count_page(page, own);
    std::lock_guard<std::mutex> guard(lock);
    for (const auto &[word, count] : own.counts) all.counts[word] += count;
#else
    for (int page = first; page < PAGES; page += 2) {
        std::lock_guard<std::mutex> guard(lock);
        count_page(page, all);
    }
#endif
}

int main()
{
    std::thread other(work, 1);
    work(0);
    other.join();
    std::printf("%zu words\n", all.counts.size());
}
