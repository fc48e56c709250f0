// SPDX-License-Identifier: BSD-3-Clause
/* Calls of every kind in C++, counted. main 1 -> largest<int> 4, largest<double> 3, sum<int, ...> of 3 arguments: sum of
   3, 2 and 1 once each, twice; Shape::area virtual: Square 5, Circle 5; Both::name through its second base 4, each of
   which goes through a thunk; Counted::Counted() 6, Counted(const Counted &) 3, ~Counted 9; operator+ 7; a lambda 8 and
   a generic lambda 2 for int and 2 for double, all in apply; std::function -> lambda 5; a static object in a function:
   Once::Once 1, ~Once 1; std::sort calls Less::operator() any number of times; Hidden::secret 3 (anonymous namespace). */
#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>
#include "keep.h"

static volatile int sink;

template <typename T> KEEP T largest(T a, T b) { return a < b ? b : a; }

template <typename T> KEEP T sum(T last) { return last; }

template <typename T, typename... Rest> KEEP T sum(T first, Rest... rest) { return first + sum<T>(rest...); }

struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
};

struct Named {
    virtual const char *name() const = 0;
    int padding = 0;
};

struct Square : Shape {
    double side;
    explicit Square(double s) : side(s) {}
    KEEP double area() const override { return side * side; }
};

struct Both : Shape, Named {
    double radius;
    explicit Both(double r) : radius(r) {}
    KEEP double area() const override { return 3 * radius * radius; }
    KEEP const char *name() const override { return sink ? "both" : "none"; }
};

struct Counted {
    int value;
    KEEP explicit Counted(int v) : value(v) { sink = v; }
    KEEP Counted(const Counted &other) : value(other.value + 1) { sink = value; }
    KEEP ~Counted() { sink = value; }
    int get() const { return value; }
};

struct Vec {
    int x, y;
    int &at(int i) { return i ? y : x; }
};

KEEP Vec operator+(Vec a, Vec b) { return {a.x + b.x, a.y + b.y}; }

template <typename F, typename T> static KEEP void apply(F f, T value) { f(value); }

struct Once {
    KEEP Once() { sink = 1; }
    KEEP ~Once() { std::printf("once\n"); }
};

static KEEP int only()
{
    static Once once;
    return sink;
}

struct Less {
    bool operator()(int a, int b) const { return a < b; }
};

namespace
{
struct Hidden {
    KEEP int secret(int i) const { return 2 * sink + i; }
};
} // namespace

static KEEP int by_value(Counted c) { return c.get(); }

int main()
{
    double result = 0;
    for (int i = 0; i < 4; i++) result += largest(i, 2);
    for (int i = 0; i < 3; i++) result += largest(i * 0.5, 1.0);
    for (int i = 0; i < 2; i++) result += sum(i, 2, 3);
    for (int i = 0; i < 5; i++) {
        Square square(i);
        Both both(i);
        const Shape *volatile shapes[] = {&square, &both};
        const Named *volatile named = &both;
        for (const Shape *shape : shapes) result += shape->area();
        if (i) result += named->name()[0];
    }
    for (int i = 0; i < 6; i++) {
        Counted counted(i);
        if (i % 2) result += by_value(counted);
    }
    Vec v{1, 2};
    for (int i = 0; i < 7; i++) v = v + Vec{i, v.at(i % 2)};
    for (int i = 0; i < 8; i++) apply([&](int x) KEEP { result += x; }, i);
    auto generic = [&](auto x) KEEP { result += x; };
    for (int i = 0; i < 2; i++) {
        apply(generic, i);
        apply(generic, i * 0.5);
    }
    std::function<int(int)> function = [](int x) KEEP { return x + sink; };
    for (int i = 0; i < 5; i++) result += function(i) > 0;
    for (int i = 0; i < 3; i++) result += only() + Hidden().secret(i);
    std::vector<int> numbers;
    for (int i = 0; i < 200; i++) numbers.push_back(i * 37 % 101);
    std::sort(numbers.begin(), numbers.end(), Less());
    std::printf("%g %d %d %d\n", result, v.x, v.y, numbers[100]);
    return 0;
}
