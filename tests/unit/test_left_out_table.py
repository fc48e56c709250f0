# SPDX-License-Identifier: BSD-3-Clause
"""The tables of left-out events name each setting of the runtime and each group of MPI functions that excludes any."""

from __future__ import annotations

import re

import pytest

from support.tools import ROOT
from vtrace.io.local.records import GAP_REASONS, LOST_REASONS
from vtrace.left_out import MPI_GROUPS, WHOLE_RUN, left_out
from vtrace.reasons import GAPS, LOSSES
from vtrace.settings import rows
from vtrace.wrappers.mpi_shim.mpi_groups import GROUPS


def test_settings_that_leave_out_during_the_whole_run() -> None:
    """The settings of the runtime's table, and VT_MPI_GROUPS, which vtrace-cc reads."""
    table = (ROOT / "csrc/core/settings_table.h").read_text()
    assert {row[0] for row in rows() if row[6] == "whole"} | {"VT_MPI_GROUPS"} == set(WHOLE_RUN)
    assert re.findall(r"^OTHER\((VT_\w+), WHOLE\)", table, re.MULTILINE) == ["VT_MPI_GROUPS"]


def test_settings_that_leave_out_for_a_part_of_the_run() -> None:
    assert {row[0] for row in rows() if row[6] == "part"} == {
        "VT_BUDGET", "VT_KEEP", "VT_MAX_FLUSHES", "VT_MAX_SIZE", "VT_MAX_THREADS", "VT_MODE", "VT_START_AFTER",
        "VT_STOP_AFTER",
    }  # fmt: skip


def test_reasons() -> None:
    """Each reason of format.h and of transcode.h has its texts; others are those of missing files and of profiles."""
    assert LOSSES.keys() - {"FILE", "DAMAGE", "ROW"} == {*LOST_REASONS.values()}
    assert GAPS.keys() == {*GAP_REASONS.values()}


def test_the_groups_of_mpi_functions() -> None:
    assert set(MPI_GROUPS) == {group.name for group in GROUPS if group.default}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, {}),
        ({"VT_MPI_GROUPS": ",".join(MPI_GROUPS)}, {}),
        ({"VT_MPI_GROUPS": ",".join([*MPI_GROUPS, "time"])}, {}),
        ({"VT_MPI_GROUPS": "p2p"}, {"VT_MPI_GROUPS": "mpi/collective+mpi/io+mpi/management+mpi/p2p+mpi/rma"}),
        ({"VT_MPI_GROUPS": ",".join(MPI_GROUPS.keys() - {"rma"})}, {"VT_MPI_GROUPS": "mpi/rma"}),
        ({"VT_MPI_GROUPS": "", "VT_MPITRACE": "no"}, {"VT_MPITRACE": "mpi"}),
        ({"VT_MEMTRACE_THRESHOLD": "1K", "VT_MEMTRACE": "no"}, {}),
        ({"VT_MEMTRACE_THRESHOLD": "1K", "VT_MEMTRACE": "yes"}, {"VT_MEMTRACE_THRESHOLD": "memory"}),
        ({"VT_ANNOTATIONS": "yes"}, {}),
        ({"VT_ANNOTATIONS": "itt,nvtx,kokkos"}, {}),
        ({"VT_ANNOTATIONS": "nvtx"}, {"VT_ANNOTATIONS": "user"}),
        ({"VT_ANNOTATIONS": "no"}, {"VT_ANNOTATIONS": "user"}),
        ({"VT_FUNCTIONS": "*"}, {}),
        ({"VT_FUNCTIONS": "-leaf;***"}, {}),
        ({"VT_FUNCTIONS": "-leaf; * ;main"}, {}),
        ({"VT_FUNCTIONS": " ;"}, {}),
        ({"VT_FUNCTIONS": "*;-leaf"}, {"VT_FUNCTIONS": "user"}),
        ({"VT_FUNCTIONS": "-*"}, {"VT_FUNCTIONS": "user"}),
        ({"VT_FUNCTIONS": "main;l*"}, {"VT_FUNCTIONS": "user"}),
        ({"VT_PTHREAD": "locks", "VT_MAX_STACK_DEPTH": "0"}, {}),
    ],
)
def test_classes(settings: dict[str, str], expected: dict[str, str]) -> None:
    assert dict(left_out(settings)) == expected
