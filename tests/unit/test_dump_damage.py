# SPDX-License-Identifier: BSD-3-Clause
"""vtrace dump of damaged files prints one line about the damage, and all intact records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.synthetic_runs.every_kind import DEFINITIONS, D, dumped, errors, of_type, write_run
from support.synthetic_runs.local_files import Chunk, write_defs, write_events
from vtrace.commands import dump
from vtrace.errors import VtraceError
from vtrace.io.local import records as r


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path)


def test_damage_is_reported_and_intact_records_are_shown(run: Path) -> None:
    """The second of three blocks is damaged, then the file is cut within the third."""
    path = write_events(run / "a.1.events.z", [Chunk(0, n, 1000 + n).record("ON", n) for n in range(3)])
    data = bytearray(path.read_bytes())
    begins = [i for i in range(len(data)) if data[i : i + 4] == r.BLOCK_MAGIC]
    data[begins[1] + 100] ^= 1
    path.write_bytes(data)
    done = dumped(run, "a", "--json", check=False)
    assert (done.returncode, errors(done)) == (1, 1)
    assert f"a.1.events.z: wrong checksum in the block at byte {begins[1]}" in done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [i["ticks"] for i in of_type(found, "record") if i["kind"] == "ON"] == [1000, 1004]
    assert len(of_type(found, "problem")) == 1
    path.write_bytes(data[:-3])
    done = dumped(run, "a.1.events.z", check=False)
    assert (done.returncode, errors(done)) == (1, 1)
    assert "and 1 more" in done.stderr
    assert " ".join(line.split()[0] for line in done.stdout.splitlines()) == "file block 0:0 block problem problem"


@pytest.mark.parametrize(
    ("word", "text"), [(127 << 24, "unknown kind of record 127"), (r.what("ENTER") | 1 << 21, "record of a wrong size"),
                       (r.what("SEND"), "record of a wrong size")],
)  # fmt: skip
def test_records_that_cannot_be(run: Path, word: int, text: str) -> None:
    path = write_events(run / "a.1.events.z", [Chunk().record("ON").word(word), Chunk(0, 1).record("OFF")])
    done = dumped(run, path.name, check=False)
    assert text in done.stderr
    assert "byte 8 of its records" in done.stderr
    kinds = [line.split()[3] for line in done.stdout.splitlines() if line.startswith("0:0")]
    assert (done.returncode, kinds) == (1, ["ON", "OFF"])


@pytest.mark.parametrize("bad", [[99, 1], [D["REGION"], 1], [D["REGION"], 1, [[2]], 3, 4, 5, 6]])
def test_definitions_that_cannot_be(tmp_path: Path, bad: list[Any]) -> None:
    write_defs(tmp_path / "a.1.def.z", [DEFINITIONS[0], bad])
    done = dumped(tmp_path, "a", check=False)
    assert (done.returncode, errors(done)) == (1, 1)
    assert "a.1.def.z: in the block at byte 2048" in done.stderr
    assert "command" in done.stdout


def test_nothing_there(run: Path) -> None:
    for words in (["sim"], ["b.1.events.z"], ["a", "--location", "-1"], ["a", "--only", "NONE"], []):
        done = dumped(run, *words, check=False)
        assert (done.returncode in (1, 2), done.stdout, errors(done)) == (True, "", 1), words
    (run / "x.1.events.z").write_text("something else")
    assert "not a file of vtrace" in dumped(run, "x.1.events.z", check=False).stderr


def test_file_without_a_head(run: Path) -> None:
    """One of several files has no head: vtrace dump reports this file and prints the others."""
    (run / "a.2.events.z").write_text("something else")
    done = dumped(run, "a", check=False)
    assert (done.returncode, errors(done)) == (1, 1)
    assert "a.2.events.z" in done.stderr
    assert "SEND MPI_COMM_WORLD" in done.stdout


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(["a.1.def.z", "a.1.events.z", "a.10003.events.z"]), at=st.integers(0), bits=st.integers(1, 255)
)
def test_damaged_files_never_end_it(run: Path, name: str, at: int, bits: int) -> None:
    path = run / name
    good = path.read_bytes()
    data = bytearray(good)
    data[at % len(data)] ^= bits
    path.write_bytes(data)
    try:
        for item in dump._Dump(True, frozenset(), None, True).of(str(run / "a")):
            json.dumps(item)
            dump._text(item)
    except VtraceError:
        pass
    finally:
        path.write_bytes(good)
