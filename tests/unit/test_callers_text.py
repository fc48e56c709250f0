# SPDX-License-Identifier: BSD-3-Clause
"""Who calls the function that a finding names: the nearest of several callers, also through a function that is the only
caller."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from vtrace.analysis.activity import ACTIVITIES
from vtrace.analysis.findings.run_facts import callers_text
from vtrace.analysis.table import Table

USER = next(number for number, name in enumerate(ACTIVITIES) if name.startswith("user"))
NAMES = ["main", "advect", "react", "wait_table", "idle"]


def text(*paths: str) -> str:
    """The words about the last name of the first path. paths: "main react idle"."""
    known: list[tuple[str, ...]] = [()]
    for words in (path.split() for path in paths):
        known += [part for n in range(len(words)) if (part := tuple(words[: n + 1])) not in known]
    regions = {"name": NAMES, "activity": [USER] * 5, "file": ["x.c"] * 5, "line": [1, 2, 3, 4, 5]}
    table = Table({
        "region": [NAMES.index(path[-1]) if path else -1 for path in known],
        "parent": [known.index(path[:-1]) for path in known],
    })  # fmt: skip
    trace: Any = SimpleNamespace(regions=Table(regions))
    return callers_text(cast(Any, trace), table, known.index(tuple(paths[0].split())))


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        (["main react idle"], ""),
        (["main react idle", "main advect idle"], ", called by react (x.c:3)"),
        (["main react wait_table idle"], ""),
        (["main react wait_table idle", "main advect wait_table idle"], ", called by wait_table in react (x.c:3)"),
        (["main react wait_table idle", "main idle"], ", called by wait_table (x.c:4)"),
    ],
)
def test_callers(paths: list[str], words: str) -> None:
    assert text(*paths) == words
