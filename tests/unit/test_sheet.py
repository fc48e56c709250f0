# SPDX-License-Identifier: BSD-3-Clause
"""Tables of a given number of lines."""

from __future__ import annotations

import pytest

from vtrace.reports.sheet import Column, Sheet, fitting, show


def table(rows: int) -> Sheet:
    return Sheet(name="t", title="Numbers", columns=[Column("n", "n")], rows=[{"n": n} for n in range(rows)])


@pytest.mark.parametrize(
    ("sizes", "lines", "kept"),
    [((9,), 20, [9]), ((30,), 20, [16]), ((9, 1, 9, 9), 20, [2, 1, 2]), ((9, 9, 9), 3, [2, 2]), ((), 20, [])],
)
def test_as_many_rows_as_fit(
    sizes: tuple[int, ...], lines: int, kept: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    """But at least two tables with two rows. A note tells what is left out."""
    found = fitting([table(size) for size in sizes], lines, "--top")
    assert [len(each.rows if each.shown is None else each.shown) for each in found] == kept
    show(found)
    shown = capsys.readouterr().out
    assert (f"{len(sizes) - len(kept)} more table" in shown) == (len(kept) < len(sizes))
    assert lines < 12 or len(shown.splitlines()) <= lines
