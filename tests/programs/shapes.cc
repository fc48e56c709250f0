// SPDX-License-Identifier: BSD-3-Clause
/* C++: a static object: Global::Global 1 and Global::~Global 1, each -> note 1, outside main.
   main 1 -> geometry::area 6; scale<int> 2, scale<double> 3; Square and its base 4 each, Square::size 4 (virtual);
   a lambda 5 -> geometry::area 1 each; catcher 3 -> thrower(3) -> (2) -> (1) -> throws, after each catcher: settled 1.
   geometry::area is 11 in all, thrower 9, note 2.                                                                     */
#include <stdexcept>
#include "keep.h"

static volatile int sink;

static KEEP void note() { sink = sink + 1; }

struct Global {
    KEEP Global() { note(); }
    KEEP ~Global() { note(); }
};

static Global global;

namespace geometry
{
KEEP int area(int a, int b) { return a * b; }

struct Shape {
    KEEP Shape() { sink = 0; }
    virtual int size() const = 0;
};

struct Square : Shape {
    int side;
    KEEP explicit Square(int s) : side(s) {}
    KEEP int size() const override { return side * side; }
};
} // namespace geometry

template <typename T> KEEP T scale(T value) { return value * 2; }

KEEP void thrower(int depth)
{
    if (depth == 1) throw std::runtime_error("deep");
    thrower(depth - 1);
    sink = sink + 1;
}

KEEP void catcher()
{
    try {
        thrower(3);
    } catch (const std::runtime_error &) {
        sink = sink + 1;
    }
}

KEEP void settled() { sink = sink + 1; }

int main()
{
    for (int i = 0; i < 6; i++) sink = geometry::area(i, 2);
    for (int i = 0; i < 2; i++) sink = scale(i);
    for (int i = 0; i < 3; i++) sink = (int)scale(i * 0.5);
    for (int i = 0; i < 4; i++) {
        geometry::Square square(i);
        const geometry::Shape *volatile shape = &square;
        sink = shape->size();
    }
    auto lambda = [](int i) KEEP { sink = geometry::area(i, i); };
    for (int i = 0; i < 5; i++) lambda(i);
    for (int i = 0; i < 3; i++) {
        catcher();
        settled();
    }
    return 0;
}
