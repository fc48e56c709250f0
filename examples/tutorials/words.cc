// SPDX-License-Identifier: BSD-3-Clause
// Counts words of pages with two threads and one table. A thread holds the table's lock while it counts a whole page,
// so the other thread waits. Compile with -DMENDED for one table per thread.
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

struct Page {
    std::vector<std::string> words;
};

struct Table {
    std::map<std::string, long> counts;
};

constexpr int PAGES = 300, WORDS = 10000;

std::mutex lock;
Table all;

void compose_page(Page &page, unsigned seed)
{
    page.words.assign(WORDS, "12345678");
    for (std::string &word : page.words)
        for (char &letter : word) {
            seed = seed * 1103515245 + 12345;
            letter = static_cast<char>('a' + (seed >> 16) % 3);
        }
}

[[gnu::noinline]] void count_page(const Page &page, Table &table)
{
    for (const std::string &word : page.words) table.counts[word]++;
}

void work(int first)
{
    Page page;
    Table own;
    for (int number = first; number < PAGES; number += 2) {
        compose_page(page, number);
#ifdef MENDED
        count_page(page, own);
#else
        std::lock_guard<std::mutex> guard(lock);
        count_page(page, all);
#endif
    }
    std::lock_guard<std::mutex> guard(lock);
    for (const auto &[word, count] : own.counts) all.counts[word] += count;
}

int main()
{
    std::thread other(work, 1);
    work(0);
    other.join();
    std::printf("%zu words\n", all.counts.size());
}
