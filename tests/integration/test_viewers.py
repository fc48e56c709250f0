# SPDX-License-Identifier: BSD-3-Clause
"""Archives of MPI programs in other readers: ViTE (export without a screen) and the older otf2-print of Debian."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import record
from support.readers.archive import Trace
from support.tools import call, need

PROGRAMS = {
    "mpi_messages.c": 3, "mpi_requests.c": 3, "mpi_collectives.c": 3, "mpi_comms.c": 4, "mpi_threads.c": 2,
    "ranks_threads.c": 2,
}  # fmt: skip
CONTAINER, ARROW = "rgb(0,0,153)", "rgb(256,256,256)"
"""Colours in ViTE's export."""


def draw(trace: Trace) -> str:
    """The drawing of an archive by ViTE, as SVG. Checks that ViTE prints no warning."""
    target = trace.path / "drawn.svg"
    done = call([need("vite"), trace.path / "traces.otf2", "-e", target], trace.path, {"QT_QPA_PLATFORM": "offscreen"})
    assert "0 errors and 0 warnings" in done.stderr, str(done)
    return target.read_text()


def check_drawing(trace: Trace, svg: str) -> None:
    fills = Counter(re.findall(r'<(?:rect|path|polygon)[^>]* fill="([^"]*)"', svg))
    processes = {location.process for location in trace.locations.values()}
    assert fills[CONTAINER] == 2 + len(processes) + len(trace.locations)  # 2: machine and node
    texts = re.findall(r"<text[^>]*>([^<]*)", svg)
    for location in trace.locations.values():
        assert any(text.startswith(location.name) for text in texts)
        assert any(text.startswith(location.group) for text in texts)
    states = sum(count for fill, count in fills.items() if fill not in (CONTAINER, ARROW))
    assert states > len(trace.locations)


@pytest.mark.parametrize("source", PROGRAMS)
def test_programs(build: Builder, tmp_path: Path, source: str) -> None:
    """ViTE draws the archive of each program; record has already read it with otf2-print -Werror."""
    need("mpicc")
    program = build(source, compiler="mpicc", flags=("-O1", "-pthread"))
    trace = record(program, tmp_path, *(["5"] if source == "ranks_threads.c" else []), ranks=PROGRAMS[source])
    svg = draw(trace)
    check_drawing(trace, svg)
    if source == "mpi_messages.c":
        assert svg.count(f'fill="{ARROW}"') == trace.kinds()["MpiSend"] + trace.kinds()["MpiIsend"]
