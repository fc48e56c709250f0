// SPDX-License-Identifier: BSD-3-Clause
// Parts of 512 bytes that a mesh makes in 64 steps of 4 ms and never deletes, and a table whose entries it deletes.
#include <chrono>
#include <map>
#include <memory>
#include <thread>

struct Part {
    double values[64];
};

class Mesh
{
    Part *last = nullptr;
    std::map<int, std::unique_ptr<Part>> table;

  public:
    __attribute__((noinline)) void add(int i)
    {
        last = new Part; // PLANTED: never deleted
        last->values[0] = i;
    }
    __attribute__((noinline)) void enter(int i) { table[i] = std::make_unique<Part>(); }
};

int main()
{
    Mesh mesh;
    for (int i = 0; i < 512; i++) {
        mesh.add(i);
        mesh.enter(i);
        if (i % 8 == 7) std::this_thread::sleep_for(std::chrono::milliseconds(4));
    }
}
