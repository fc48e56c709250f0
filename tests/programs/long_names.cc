// SPDX-License-Identifier: BSD-3-Clause
// Functions of C++ with names that are longer than a terminal, some of which differ in the middle only.
#include <map>
#include <string>
#include <vector>

struct DiscretisationOfTheLaplaceOperatorInThreeDimensions {};
struct DiscretisationOfTheHelmholtzOperatorInThreeDimensions {};

using Options = std::map<std::string, std::vector<double>>;

template <class Field, class Kernel> struct Solver {
    Field field;
    __attribute__((noinline)) void step(const Options &options) { field.push_back(double(options.size())); }
    __attribute__((noinline)) void solve(const Options &options)
    {
        for (int i = 0; i < 10; i++) step(options);
    }
};

int main()
{
    Options options;
    Solver<std::vector<double>, DiscretisationOfTheLaplaceOperatorInThreeDimensions>().solve(options);
    Solver<std::vector<double>, DiscretisationOfTheHelmholtzOperatorInThreeDimensions>().solve(options);
}
