# SPDX-License-Identifier: BSD-3-Clause
"""The cost of the replay in the repair of clocks, as executed basic blocks: it is linear in the number of clocks."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.tools import ROOT, call, need
from vtrace.io.local.repair_kernel import PIECE, Parts, _Repaired

_COUNTER = """
#include <stdint.h>
uint64_t blocks;
__attribute__((no_sanitize_coverage)) void __sanitizer_cov_trace_pc(void) { blocks++; }
"""
_END = np.dtype([("ns", "<u8"), ("request", "<u8"), ("comm", "<u4"), ("peer", "<u4"), ("tag", "<u4"), ("what", "<u4")])
"""struct vt_end"""
_RECEIVE, _BEGIN = 2, 5
_PREFIX, _GIVES, _TAKES, _SCAN = 4, 8, 16, 14 << 8


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """A library of repair.c and its dependencies that counts executed basic blocks."""
    where = tmp_path_factory.mktemp("counted")
    (where / "counter.c").write_text(_COUNTER)
    sources = [ROOT / "csrc" / "otf2_writer" / f"{name}.c" for name in ("repair", "containers", "times")]
    flags = ["-O1", "-shared", "-fPIC", f"-I{ROOT / 'csrc'}"]
    call([need("gcc"), *flags, "-c", "-fsanitize-coverage=trace-pc", *sources], where)
    call([need("gcc"), *flags, "counter.c", *sorted(where.glob("*.o")), "-o", "counted.so"], where)
    return ctypes.CDLL(str(where / "counted.so"))


def replayed(library: ctypes.CDLL, ends: np.ndarray[Any, Any], ranks: np.ndarray[Any, Any], where: Path) -> _Repaired:
    """Replays one end of each process; each process has a clock of its own. ranks: of processes in the communicator."""
    count = len(ends)
    members = np.empty(count, np.uint32)
    members[ranks] = np.arange(count)
    parts = Parts(
        clocks=np.arange(count, dtype=np.uint32),
        doubtful=np.zeros(count, np.uint8),
        comm_first=np.array([0, count], np.uint32),
        comm_members=members,
        comm_repaired=np.ones(1, np.uint8),
        nclocks=count,
        first_window=1,
        limit=10**6,
        firsts=np.arange(count, dtype=np.uint32),
    )
    path = where / "ends"
    path.write_bytes(ends.tobytes())
    pieces, found = np.zeros(count, PIECE), _Repaired()
    file = os.open(path, os.O_RDONLY)
    pieces["offset"], pieces["count"], pieces["file"] = np.arange(count) * _END.itemsize, 1, file
    pieces["process"] = np.arange(count)
    pointers = parts.pointers()
    run = library.vt_kernel_repair
    run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p]
    try:
        assert run(ctypes.byref(pointers), pieces.ctypes.data, count, ctypes.byref(found)) == 0
        library.vt_kernel_repair_free(ctypes.byref(found))
    finally:
        os.close(file)
    return found


def steps(library: ctypes.CDLL, *args: Any) -> tuple[int, _Repaired]:
    blocks = ctypes.c_uint64.in_dll(library, "blocks")
    before = blocks.value
    found = replayed(library, *args)
    return blocks.value - before, found


ORDERS = {
    "ascending": lambda n: np.arange(n),
    "descending": lambda n: np.arange(n)[::-1],
    "upper half first": lambda n: np.roll(np.arange(n), n // 2),
}
"""Ranks by clock. Clocks begin the operation in ascending order."""


@pytest.mark.parametrize("order", ORDERS)
def test_prefixes(order: str, counted: ctypes.CDLL, tmp_path: Path) -> None:
    """Each rank waits for all lower ranks, and the replay checks each rank's begin only once."""
    taken = []
    for count in (500, 1000):
        ends = np.zeros(count, _END)
        ranks = ORDERS[order](count).astype(np.uint32)
        ends["ns"], ends["request"], ends["what"] = 1000 + np.arange(count), 5000, _BEGIN
        ends["tag"], ends["peer"] = _PREFIX | _GIVES | _TAKES | _SCAN, ranks
        number, found = steps(counted, ends, ranks, tmp_path)
        assert (found.collectives, found.ignored, found.left) == (count, 0, 0)
        taken.append(number)
    assert taken[1] < 2.3 * taken[0], taken


def test_messages_that_nobody_sent(counted: ctypes.CDLL, tmp_path: Path) -> None:
    """All clocks wait for messages without a send; one after the other goes on without its message."""
    taken = []
    for count in (500, 1000):
        ends = np.zeros(count, _END)
        ends["ns"], ends["what"], ends["peer"] = 1000, _RECEIVE, (np.arange(count) + 1) % count
        number, found = steps(counted, ends, np.arange(count), tmp_path)
        assert (found.messages, found.ignored) == (count, count)
        taken.append(number)
    assert taken[1] < 2.3 * taken[0], taken
