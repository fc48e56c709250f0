# SPDX-License-Identifier: BSD-3-Clause
"""The table of what settings leave out of a trace has each setting of the runtime and each group of MPI functions."""

from __future__ import annotations

import re

import pytest

from support.tools import ROOT
from vtrace.left_out import MPI_GROUPS, NOTHING, TIMED, WHOLE_RUN, left_out
from vtrace.settings import MEANINGS
from vtrace.wrappers.mpi_shim.mpi_groups import GROUPS


def test_each_setting_stands_in_one_part() -> None:
    known = set(re.findall(r'"(VT_[A-Z_]+)"', (ROOT / "csrc/core/settings.c").read_text()))
    assert set(MEANINGS) < known
    parts = [NOTHING, TIMED, set(WHOLE_RUN)]
    assert set().union(*parts) == known
    assert sum(map(len, parts)) == len(known)


def test_the_groups_of_mpi_functions() -> None:
    assert set(MPI_GROUPS) == {group.name for group in GROUPS if group.default}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, {}),
        ({"VT_MPI_GROUPS": ",".join(MPI_GROUPS)}, {}),
        ({"VT_MPI_GROUPS": ",".join([*MPI_GROUPS, "time"])}, {}),
        (
            {"VT_MPI_GROUPS": "p2p"},
            {"VT_MPI_GROUPS": "mpi/collective+mpi/io+mpi/management+mpi/p2p+mpi/rma"},
        ),
        ({"VT_MPI_GROUPS": ",".join(MPI_GROUPS.keys() - {"rma"})}, {"VT_MPI_GROUPS": "mpi/rma"}),
        ({"VT_MPI_GROUPS": "", "VT_MPITRACE": "no"}, {"VT_MPITRACE": "mpi"}),
        ({"VT_MEMTRACE_THRESHOLD": "1K", "VT_MEMTRACE": "no"}, {}),
        ({"VT_MEMTRACE_THRESHOLD": "1K", "VT_MEMTRACE": "yes"}, {"VT_MEMTRACE_THRESHOLD": "memory"}),
        ({"VT_PTHREAD": "locks", "VT_MAX_STACK_DEPTH": "0"}, {}),
    ],
)
def test_classes(settings: dict[str, str], expected: dict[str, str]) -> None:
    assert dict(left_out(settings)) == expected
