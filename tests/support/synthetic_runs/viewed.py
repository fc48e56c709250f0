# SPDX-License-Identifier: BSD-3-Clause
"""A small archive of two ranks with markup in names, and a running vtrace view."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import _otf2

from support.synthetic_runs.archives import UNDEFINED, Foreign
from support.tools import command, environment

MAIN, SEND, RECV, SCRIPT, ALL, CLOSE = range(6)
NAMES = {
    MAIN: "main", SEND: "MPI_Send", RECV: "MPI_Recv", SCRIPT: "<script>window.hit=1</script>", ALL: "MPI_Allreduce",
    CLOSE: "</script><img src=x onerror=window.hit=2><b>bold</b>",
}  # fmt: skip
US = 1000
LENGTH = 1000 * US
WORLD = "world <i>&amp;</i>"


@contextmanager
def served(where: Path, *words: str | Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Runs vtrace view; gives its address and its process."""
    process = subprocess.Popen(
        [*command("vtrace"), "view", "--no-browser", *words], cwd=where, env=environment({"TMPDIR": str(where)}),
        text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout
    try:
        yield process.stdout.readline().strip(), process
    finally:
        process.kill()
        process.communicate()


def write(where: Path) -> Path:
    """Writes the archive. Rank 0 sends 100 messages of 8 bytes to rank 1, both call Allreduce, and calls with odd names
    follow. A message leaves at the start of its send, and arrives at the end of its receive, which starts earlier.
    """
    archive = Foreign(where)
    for rank in (0, 1):
        archive.events(rank, _events(rank))
    archive.begin_definitions()
    archive.machine(groups=2, length=LENGTH)
    for rank in (0, 1):
        archive.location(rank, group=rank)
    paradigms = {SEND: 4, RECV: 4, ALL: 4}
    for number, name in NAMES.items():
        archive.define("Region", number, name, name, "", 1, paradigms.get(number, 1), 0, "odd & <file>.c", number, 99)
    archive.define("Group", 0, "", 4, 4, 0, [0, 1])
    archive.define("Group", 1, "", 5, 4, 0, [0, 1])
    archive.define("Comm", 0, WORLD, 1, UNDEFINED, 0)
    member = _otf2.METRIC_TYPE_OTHER.value, _otf2.METRIC_ABSOLUTE_POINT.value, _otf2.TYPE_DOUBLE.value
    archive.define("MetricMember", 0, "width <hr>", "", *member, 0, 0, "m")
    archive.define("MetricClass", 0, [0], 0, 0)
    return archive.close()


def _events(rank: int) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = [(0, "Enter", MAIN)]
    region, kind = (SEND, "MpiSend") if rank == 0 else (RECV, "MpiRecv")
    for n in range(100):
        time = (n + 1) * 5 * US
        found += [
            (time - rank * US, "Enter", region), (time + 2 * rank * US, kind, 1 - rank, 0, n, 8),
            (time + 2 * US, "Leave", region),
        ]  # fmt: skip
    found += [(600 * US, "Enter", ALL), (600 * US + 1, "MpiCollectiveBegin")]
    found += [
        (700 * US - 1, "MpiCollectiveEnd", _otf2.COLLECTIVE_OP_ALLREDUCE.value, 0, UNDEFINED, 16, 16),
        (700 * US, "Leave", ALL),
    ]
    found += [(800 * US, "Enter", SCRIPT), (801 * US, "Enter", CLOSE), (900 * US, "Leave", CLOSE)]
    found.append((901 * US, "Leave", SCRIPT))
    found += [(950 * US, "Enter", CLOSE), (951 * US, "Leave", CLOSE)] * rank  # rank 1 has more calls than rank 0
    return [*found, (LENGTH, "Leave", MAIN)]
