# SPDX-License-Identifier: BSD-3-Clause
"""Parts of the mpiP report: bins of sizes, frames of call sites, columns."""

from __future__ import annotations

import numpy as np
import pytest

from vtrace.analysis.questions.callsites import Bytes, SiteCalls, bins, plain, span
from vtrace.compat.mpip import Frame, MpipProfile, MpipTask, Site, Style, concise, parsed, verbose


def test_bins_are_mpip_s() -> None:
    sizes = [0, 1, 7, 8, 15, 16, 31, 32, 4095, 4096, 1 << 40]
    found = bins(np.array(sizes, np.int64))
    assert found.tolist() == [0, 0, 0, 1, 1, 2, 2, 3, 9, 10, 31]
    for size, at in zip(sizes[:-1], found.tolist(), strict=False):
        least, most = span(at)
        assert least <= size <= most


@pytest.mark.parametrize(
    ("text", "frame"),
    [
        ("main@/src/a.c:12", Frame("main", "/src/a.c", 12)),
        ("f(int)@/home/me@host/x y.cc:3", Frame("f(int)", "/home/me@host/x y.cc", 3)),
        ("main@heat+0x1a", Frame("main", "[unknown]", line=0, module="heat", address=26)),
        ("[unknown]@libc.so.6+0x10", Frame("[unknown]", "[unknown]", line=0, module="libc.so.6", address=16)),
        ("", Frame()),
        ("no place", Frame("no place")),
    ],
)
def test_frames(text: str, frame: Frame) -> None:
    assert parsed(text) == frame


def test_names_of_variants() -> None:
    assert [plain(name) for name in ("MPI_Send_c", "MPI_Send", "BarrierAfterColl")] == [
        "Send", "Send", "BarrierAfterColl",
    ]  # fmt: skip


def profile() -> MpipProfile:
    calls = SiteCalls(count=3, total=3_000_000, least=500_000, most=2_000_000, bytes={"sent": Bytes(300, 50, 150)})
    site = Site(1, "Send", (Frame("f(int, int)", "a b.c", 7), Frame("main", module="x", address=64)), {0: calls})
    return MpipProfile(
        tasks=[MpipTask(0, "node", 10_000_000, 3_000_000), MpipTask(1, "node", 10_000_000)],
        sites=[site],
        collective_ns={},
        pt2pt_bytes={},
        depth=1,
        problems=[],
    )


def test_lines() -> None:
    lines = list(verbose(profile(), Style(collective=True, pt2pt=True)))
    assert "   0       0.01      0.003    30.00" in lines
    assert "   1       0.01          0     0.00" in lines
    assert "   *       0.02      0.003    15.00" in lines
    assert "  1   0 a_b.c                  7 f(int,_int)              Send" in lines
    assert "  1   1 0x40                     main" in lines
    assert "Send                    1          3   15.00  100.00    0.00" in lines
    assert "Send                    1          3        300        100 100.00" in lines
    assert "No collective operations to report" in lines
    assert "No point to point operations to report" in lines
    assert "Send                 1    0      3        2        1      0.5  30.00 100.00" in lines
    assert "Send                 1    *       3       150       100        50       300" in lines


def test_concise_lines() -> None:
    lines = list(concise(profile(), Style()))
    assert "Max                 0.010000          0.003000                 0          0" in lines
    assert "Min                 0.010000          0.000000                 0          1" in lines
    assert "Aggregate           0.020000          0.003000  15.00" in lines
    assert "Send                 1       1         3         3         3      0      0" in lines


def test_a_rank_without_time_in_mpi_has_no_share() -> None:
    empty = MpipProfile(tasks=[MpipTask(0, "node")], sites=[], collective_ns={}, pt2pt_bytes={}, depth=0, problems=[])
    assert "   0          0          0     0.00" in list(verbose(empty, Style()))
    assert list(concise(empty, Style()))
