# SPDX-License-Identifier: BSD-3-Clause
"""Names with control characters: what commands print of them does nothing to a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support import mpis
from support.build import Builder
from support.run import run, unify, vtrace

ODD = "\x1b[31m\x07\x7f\x85\u202eb"
COMMANDS = ["info", "summary", "summary --csv", "summary --json", "info --json", "score", "score --json", "timers"]


def harmless(text: str) -> bool:
    """Whether a terminal shows all of it as it is."""
    return all(line.replace("\t", "").isprintable() for line in text.split("\n"))


@pytest.fixture
def prefix(build: Builder, tmp_path: Path) -> str:
    """Local files of a run whose name, that of the program too, has control characters."""
    program = build("many.c").with_name(f"many{ODD}")
    if not program.exists():
        program.write_bytes(build("many.c").read_bytes())
        program.chmod(0o755)
    run(program, tmp_path)
    return f"many{ODD}"


def test_commands(prefix: str, tmp_path: Path) -> None:
    for words in (["dump", prefix], ["dump", "--json", prefix]):
        done = vtrace(tmp_path, *words)
        assert harmless(done.stdout + done.stderr), words
    done = unify(tmp_path, prefix)
    assert harmless(done.stdout + done.stderr)
    for words in COMMANDS:
        done = vtrace(tmp_path, *words.split(), prefix, check=False)
        assert harmless(done.stdout + done.stderr), words
        if "--json" in words:
            json.loads(done.stdout)


def test_mpip(build: Builder, tmp_path: Path) -> None:
    mpi = mpis.find("mpich-wheel", build)
    program = build("mpi_rounds.c", compiler=mpi.mpicc, mode="mpi")
    odd = program.with_name(f"rounds{ODD}")
    odd.write_bytes(program.read_bytes())
    odd.chmod(0o755)
    run(odd, tmp_path, "10", "2")
    unify(tmp_path, odd.name)
    done = vtrace(tmp_path, "mpip", odd.name)
    assert "Command" in done.stdout
    assert harmless(done.stdout + done.stderr)
