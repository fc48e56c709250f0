# SPDX-License-Identifier: BSD-3-Clause
"""The functions in gcc's exclude list. gcc compares its items with parts of names, so some names cannot be listed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.tools import need
from vtrace.reports.score import exclude_list
from vtrace.symbols.symbols import function_names


@pytest.mark.parametrize(
    ("chosen", "others", "items"),
    [
        (["work"], ["main"], ["work"]),
        (["work"], ["work_more"], []),
        (["work"], ["rework"], []),
        (["work", "work_more"], ["main"], ["work", "work_more"]),
        (["work_more"], ["work", "rework"], ["work_more"]),
        (["ns::work(int, int)"], ["other::work()"], ["ns::work"]),
        (["ns::work(int)"], ["ns::work(double)"], []),
        (["ns::work(int)", "ns::work(double)"], [], ["ns::work"]),
        (["Grid::~Grid()"], ["Grid::Grid()"], ["Grid::~Grid"]),
        (["size"], ["f(size_type)"], []),
        (["nt"], ["void f<unsigned long>()"], []),
        (["nt"], ["f(unsigned long)"], ["nt"]),
    ],
)  # fmt: skip
def test_a_name_is_listed_where_no_other_function_holds_it(
    chosen: list[str], others: list[str], items: list[str]
) -> None:
    listed, reasons = exclude_list(chosen, {*chosen, *others})
    assert listed == items
    assert bool(reasons) == (not items)


@pytest.mark.parametrize(
    "name",
    [
        "(anonymous namespace)::step()", "void twice<int, int>(int, int)", "S::operator,(int)", "f()::L::in()",
        "main::{lambda(int)#1}::operator()(int) const", "heat::step", "inner.0", "S::f[abi:cxx11]()", "",
    ],
)  # fmt: skip
def test_names_that_gcc_writes_in_another_way_are_not_listed(name: str) -> None:
    assert exclude_list([name], {name, "main"}) == ([], {name: "gcc writes its name in another way"})


def test_a_region_that_is_no_function_is_not_listed() -> None:
    assert exclude_list(["solve"], {"main"}) == ([], {"solve": "no compiled function"})


def test_the_reason_names_the_other_function() -> None:
    assert exclude_list(["work"], {"work", "main", "rework"})[1] == {"work": "its name is a part of rework"}


def test_names_of_an_executable(tmp_path: Path) -> None:
    source = tmp_path / "p.cpp"
    source.write_text(
        "namespace ns { static int unused(int n) { return n; } int called(int n) { return unused(n); } }\n"
        "int main() { int s = 0;\n#pragma omp parallel\ns += ns::called(1);\nreturn s - s; }\n"
    )
    program = tmp_path / "p"
    subprocess.run([need("g++"), "-fopenmp", "-o", program, source], check=True)
    names = function_names(program, {"_ZN2ns6calledEi"})
    assert {"main", "ns::unused(int)"} <= names
    assert not [name for name in names if "omp_fn" in name or "called" in name]
    subprocess.run([shutil.which("strip") or sys.exit("no strip"), program], check=True)
    with pytest.raises(ValueError, match="no symbol table"):
        function_names(program, set())
