# SPDX-License-Identifier: BSD-3-Clause
"""Names shortened for a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtrace.short_names import folded, path_parts, shortened

ROOM = 40
LAPLACE = "Solver<std::vector<double>, VeryLongNameOfTheLaplaceKernel>::step(std::map<int, double> const&)"
HELMHOLTZ = LAPLACE.replace("Laplace", "Helmholtz")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("main", "main"),
        ("std::vector<double, std::allocator<double> >::insert(int, double)", "std::vector<...>::insert(int, double)"),
        ("a::operator<< <std::char_traits<char> >(std::ostream&)", "a::operator<< <std::char_traits<char> >(...)"),
        ("MPI_Send in Solver<int, int, float>::run(int) (a.cc:12)", "MPI_Send in Solver<...>::run(...) (a.cc:12)"),
        ("a_name_without_brackets_that_does_not_fit_into_the_room", "a_name_without_bracke...not_fit_into_the_room"),
    ],
)  # fmt: skip
def test_one_name(name: str, text: str) -> None:
    assert shortened([name], 45) == {name: text}


def test_names_that_differ_in_their_arguments_only() -> None:
    assert [*shortened([LAPLACE, HELMHOLTZ], ROOM).values()] == [
        "Solver<...LaplaceKernel>::step(...)", "Solver<...HelmholtzKernel>::step(...)",
    ]  # fmt: skip


@given(st.lists(st.text("ab<>(),: -", max_size=60), max_size=12), st.integers(12, 50))
def test_different_names_stay_different(names: list[str], room: int) -> None:
    short = shortened(names, room)
    assert len({*short.values()}) == len({*names})
    assert all(len(text) <= room or text == name for name, text in short.items())


def test_paths() -> None:
    path = "main > solve<vector<int> > const > a->b > operator>"
    assert path_parts(path) == ["main", "solve<vector<int> > const", "a->b", "operator>"]
    (lines,) = folded([f"main > {LAPLACE} > well-known"], ROOM, kind="path")
    assert lines == ["main >", "Solver<...>::step(...) > well-known"] or all(len(line) <= ROOM for line in lines)
