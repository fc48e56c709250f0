# SPDX-License-Identifier: BSD-3-Clause
"""Bytes that pass several layers of I/O count once: a program with MPI-IO, ISO C and POSIX, compared with its files."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import vtrace
from support.build.mpis import Mpi
from support.build.run import vtrace as command
from vtrace.analysis.questions.io_files import by_layer, reduce_io

RANKS, ROUNDS = 2, 5
OWN = ROUNDS * sum(100 + rank for rank in range(RANKS))
"""Bytes that all ranks write in one of the three ways of MPI-IO."""


@pytest.fixture(scope="module")
def where(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("layers")
    mpi.record(mpi.build("io_layers.c"), where, ranks=RANKS, env={"VT_IOTRACE": "yes"})
    return where


def summary(where: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(command(where, "summary", "io_layers", "--json").stdout)
    return found


def test_files_count_each_byte_once(where: Path) -> None:
    rows = {Path(row["file"]).name: row for row in summary(where)["files"] if row["file"].startswith(str(where))}
    shared = rows.pop("shared")
    assert (shared["bytes_written"], shared["bytes_read"]) == (3 * OWN, OWN)
    assert (shared["writes"], shared["reads"]) == (3 * ROUNDS * RANKS, ROUNDS * RANKS)
    assert shared["opens"] == RANKS
    assert shared["mpi_io_bytes_written"] == 3 * OWN
    assert shared["posix_bytes_written"] >= 3 * OWN
    assert shared["layers"].split(" > ")[0] == "mpi-io"
    for rank in range(RANKS):
        plain = rows[f"plain.{rank}"]
        assert (plain["bytes_written"], plain["layers"]) == (7 * ROUNDS, "posix")
        assert (where / f"plain.{rank}").stat().st_size == plain["bytes_written"]
        below = rows[f"stream.{rank}"]  # vtrace does not record the calls of the program's custom stream
        assert (below["bytes_written"], below["posix_bytes_written"]) == (10 * ROUNDS, 10 * ROUNDS)


def test_layers(where: Path) -> None:
    trace = vtrace.open(where / "io_layers.trace")
    table = trace.io()
    names = trace.files["name"].tolist()
    mine = {row for row, name in enumerate(names) if str(name).startswith(str(where))} | {-1}
    own = {
        table.layers[row["layer"]]: (row["bytes_written"], row["nested_bytes_written"])
        for row in reduce_io(table.take([file in mine for file in table["file"].tolist()]), "layer").records()
    }
    assert own["mpi-io"] == (3 * OWN, 0)
    assert own["posix"][0] == (7 + 10) * ROUNDS * RANKS
    assert own["posix"][1] >= 3 * OWN
    layers = by_layer(table)
    assert sum(layers["bytes_written"].tolist()) == sum(a + b for a, b in zip(
        table["bytes_written"].tolist(), table["nested_bytes_written"].tolist(), strict=True))  # fmt: skip


def test_tables_agree(where: Path) -> None:
    found = summary(where)
    layers = {row["layer"]: row for row in found["layers"]}
    for key in ("bytes_read", "bytes_written"):
        once = sum(row[key] for row in found["files"])
        assert once == sum(row[key] - row[f"nested_{key}"] for row in layers.values())
        for name in layers:
            of = f"{name.replace('-', '_')}_{key}"
            assert layers[name][key] == sum(row[of] for row in found["files"])
    (here,) = (row for row in found["directories"] if row["directory"] == str(where))
    named = [row for row in found["files"] if Path(row["file"]).parent == where]
    assert here["bytes_written"] == sum(row["bytes_written"] for row in named)
    text = command(where, "summary", "io_layers", "--only", "files").stdout
    assert "mpi-io > posix" in text
    rows = list(csv.DictReader(command(where, "summary", "io_layers", "--only", "layers", "--csv").stdout.splitlines()))
    assert [row["layer"] for row in rows] == list(layers)
