# SPDX-License-Identifier: BSD-3-Clause
"""VT_MAX_SIZE first stops functions, I/O and memory, then all events; counts are exact, also after a later kill."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import run, unify
from support.oracles.check import check
from support.oracles.ledger import ledger
from support.readers import words
from support.tools import call, command, need
from vtrace.io.local import records as r

SIZE = {"VT_MAX_SIZE": "1M", "VT_COMPRESSION": "no"}
SIZE_REASON = next(number for number, name in r.LOST_REASONS.items() if name == "SIZE")


@pytest.fixture(scope="module")
def flood(build: Builder) -> Path:
    return build("mpi_flood.c", compiler="mpicc")


def limits(path: Path) -> list[tuple[int, int]]:
    """Reasons and classes of the LIMIT records in a local file."""
    return [(record.id, record.payload[0]) for record in words.events(path) if record.kind == "LIMIT"]


def test_functions_stop_and_messages_go_on(flood: Path, tmp_path: Path) -> None:
    rounds, calls = 400, 300
    done = run(flood, tmp_path, str(rounds), str(calls), ranks=2, env=SIZE)
    made = 2 * 2 * (1 + rounds + rounds * calls)
    for rank in ("1", "2"):
        assert limits(tmp_path / f"mpi_flood.{rank}.events") == [(SIZE_REASON, r.CLASS_FIRST)]
        assert (tmp_path / f"mpi_flood.{rank}.events").stat().st_size < 1.1 * 2**20
    found = ledger(tmp_path, "mpi_flood")
    assert found.functions + found.lost == made
    assert found.functions > made / 20
    (line,) = [line for line in done.stderr.splitlines() if "VT_MAX_SIZE" in line]
    assert line.startswith("vtrace: recording stopped at VT_MAX_SIZE=1M: ")
    unify(tmp_path, "mpi_flood")
    trace = check(tmp_path / "mpi_flood.trace")
    assert (trace.kinds()["MpiSend"], trace.kinds()["MpiRecv"]) == (2 * rounds, 2 * rounds)
    shown = trace.calls()
    assert (shown["MPI_Sendrecv"], shown["MPI_Finalize"], shown["main"]) == (2 * rounds, 2, 2)
    assert 0 < shown["work"] < 2 * rounds * calls
    assert 2 * (shown["main"] + shown["round_trip"] + shown["work"]) == found.functions, "each enter needs its leave"
    assert "MeasurementOnOff" not in trace.kinds()
    coverage = json.loads(trace.properties["VTRACE::COVERAGE"])
    assert (coverage["complete"], coverage["lost_by"]) == (False, {"SIZE": made - found.functions})


def test_io_and_memory_stop_too(flood: Path, tmp_path: Path) -> None:
    rounds = 300
    env = {**SIZE, "VT_IOTRACE": "yes", "VT_MEMTRACE": "yes"}
    run(flood, tmp_path, str(rounds), "300", ranks=2, env=env)
    unify(tmp_path, "mpi_flood")
    trace = check(tmp_path / "mpi_flood.trace", complete=False)
    assert trace.kinds()["MpiSend"] == trace.kinds()["MpiRecv"] == trace.calls()["MPI_Sendrecv"] == 2 * rounds
    assert trace.calls()["write"] < 2 * rounds


def test_all_stops_at_the_end(flood: Path, tmp_path: Path) -> None:
    """Messages alone fill the reserve beyond VT_MAX_SIZE, and recording stops."""
    rounds = 30000
    run(flood, tmp_path, str(rounds), "0", ranks=2, env=SIZE)
    found = ledger(tmp_path, "mpi_flood")
    for rank in ("1", "2"):
        classes = [r.CLASS_FIRST, r.CLASS_ALL]
        assert limits(tmp_path / f"mpi_flood.{rank}.events") == [(SIZE_REASON, bits) for bits in classes]
    calls_of_mpi = rounds + 4  # MPI_Sendrecv; MPI_Init, MPI_Comm_rank, MPI_Comm_size, MPI_Finalize
    made = 2 * (2 * (1 + rounds) + 2 * calls_of_mpi + 2 * rounds)
    kept = sum(n for kind, n in found.kinds.items() if kind not in ("TIME", "FLUSH", "LIMIT", "LOST"))
    assert kept + found.lost == made
    unify(tmp_path, "mpi_flood")
    trace = check(tmp_path / "mpi_flood.trace", complete=False)
    assert trace.kinds()["MeasurementOnOff"] == 2
    assert trace.calls()["MPI_Sendrecv"] < 2 * rounds


def test_default_is_in_the_settings_of_the_trace(build: Builder, tmp_path: Path) -> None:
    """The default of VT_MAX_SIZE after a full buffer is in the settings of the archive. Processes on one node share it;
    the launcher's environment gives their number."""
    for processes, env in ((1, {}), (64, {"OMPI_COMM_WORLD_LOCAL_SIZE": "64"}), (32, {"SLURM_NTASKS_PER_NODE": "32"})):
        prefix = f"p{processes}"
        run(build("many.c"), tmp_path, "20000", env={"VT_BUFFER_SIZE": "100K", "VT_FILE_PREFIX": prefix, **env})
        unify(tmp_path, prefix)
        trace = check(tmp_path / f"{prefix}.trace")
        assert trace.calls()["work"] == 20000
        value = json.loads(trace.properties["VTRACE::SETTINGS"])["VT_MAX_SIZE"].split()[0]
        unit = {"K": 10, "M": 20, "G": 30}.get(value[-1], 0)
        size = int(value[:-1] if unit else value) << unit
        free = os.statvfs(tmp_path)
        share = min(2**30, min(10 * 2**30, free.f_bavail * free.f_frsize // 10) // processes)
        assert 0.8 * share < size < 1.2 * share, (value, share)


@pytest.mark.parametrize("ranks", [1, 2])
def test_option_of_run(flood: Path, ranks: int, tmp_path: Path) -> None:
    """--max-size overrides VT_MAX_SIZE, and reaches the ranks of a launcher."""
    words = [*command("vtrace"), "run", "--max-size", "1M", need("mpiexec"), "-n", str(ranks), flood, "400", "300"]
    done = call(words, tmp_path, {"VT_MAX_SIZE": "1G", "VT_COMPRESSION": "no"})
    assert "vtrace: recording stopped at VT_MAX_SIZE=1M: " in done.stderr
    for rank in range(1, ranks + 1):
        assert limits(tmp_path / f"mpi_flood.{rank}.events") == [(SIZE_REASON, r.CLASS_FIRST)]


@pytest.mark.parametrize("size", ["0", "00K", "many", "1T", "-1", "M"])
def test_no_size(size: str, tmp_path: Path) -> None:
    done = call([*command("vtrace"), "run", f"--max-size={size}", "true"], tmp_path, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        f"vtrace: error: --max-size {size} is not a size (give bytes, or a number that ends in K, M or G: 4G)\n"
    )
