# SPDX-License-Identifier: BSD-3-Clause
"""vtrace dump of synthetic files with known bytes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.synthetic_runs.every_kind import (
    DEFINITIONS,
    RECORDS,
    D,
    dumped,
    errors,
    every_kind,
    items,
    of_type,
    write_run,
)
from support.synthetic_runs.local_files import Chunk, write_buffer, write_events
from support.tools import command
from vtrace.commands import dump
from vtrace.io.local import records as r


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path)


def test_every_kind_is_tried_and_in_the_help() -> None:
    assert {name for name, *_ in RECORDS} | {"TIME"} == set(r.KINDS)
    assert {number for number, *_ in DEFINITIONS} == set(D.values())
    shown = CliRunner().invoke(dump.command, ["--help"]).output
    assert set(dump._KINDS) <= set(shown.split())


def test_every_kind_of_record(run: Path) -> None:
    found = of_type(items(run, "a", "--location", "0"), "record")
    where = {"type": "record", "rank": 0, "pid": 100, "location": 0}
    function = {"offset": 0x1020, "name": "prog+0x20", "at": "prog+0x20"}
    assert found[0] == where | {"kind": "FUNCTION_ENTER", "ticks": 1005, "delta": 5} | function
    assert found[1] == where | {"kind": "FUNCTION_LEAVE", "ticks": 1011, "delta": 6} | function
    now = 1011 + (1 << 33)
    assert (found[2]["kind"], found[2]["ticks"], found[2]["delta"]) == ("TIME", now, 1 << 33)
    assert len(found) == 3 + len(RECORDS)
    for item, (kind, delta, _, _, expected, _) in zip(found[3:], RECORDS, strict=True):
        now += delta
        assert item.items() >= (where | {"kind": kind, "ticks": now, "delta": delta} | expected).items()
        known = [value.name for word in r.PAYLOAD[kind] for value in word]
        refers = [r.REFERS_TO[kind]] if kind in r.REFERS_TO else []
        assert set(known + refers) <= set(item), "every value and the id have a name"


def test_as_text(run: Path) -> None:
    lines = dumped(run, "a", "--location", "0").stdout.splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["file", "block"]
    texts = [line for line in lines if line.startswith("0:0 ")]
    assert texts[0] == "0:0 1005 +5       FUNCTION_ENTER prog+0x20"
    assert [line.split(maxsplit=3)[3] for line in texts[3:]] == [text for *_, text in RECORDS]


def test_definitions(run: Path) -> None:
    found = of_type(items(run, "a"), "definition")
    assert [item["kind"] for item in found] == [
        name for entry in DEFINITIONS for name, number in D.items() if number == entry[0]
    ]
    fields = [item["fields"] for item in found]
    assert fields[0] == {"key": "command", "value": ["./a", "two words"]}
    assert fields[1] == {"id": 1, "name": "solve it", "paradigm": "USER", "role": "FUNCTION", "file": "a.c", "line": 7}
    assert (fields[2]["paradigm"], fields[2]["role"]) == ("MPI", "POINT2POINT")
    assert (fields[3]["path"], fields[3]["build_id"]) == ("/nowhere/prog", "abcd")
    assert (fields[5]["kind"], fields[6]["parent"], fields[6]["tag"]) == ("WORLD", 1, 3)
    assert fields[8] == {"id": 2, "side": 0, "first": 0, "world": 7, "ranks": [0, 1]}
    assert fields[14]["last"] == 2000
    assert (fields[15]["type"], fields[16]["type"], fields[17]["path"]) == ("INT32", "FLOAT", "/scratch/data.bin")
    handle = {"name": "data.bin", "file": 1, "paradigm": "POSIX", "flags": [], "comm": None, "parent": None}
    assert fields[18] == {"id": 1, **handle, "access": None, "status": None}
    handle = {"name": "stdin", "file": None, "paradigm": "ISOC", "flags": ["PRE_CREATED"], "comm": 1, "parent": 1}
    assert fields[19] == {"id": 2, **handle, "access": "READ_ONLY", "status": ["NON_BLOCKING"]}
    assert fields[21:24] == [{"id": 2, "comm": 1, "count": 1}, {"id": 1, "name": "halo"},
                             {"id": 1, "comm": 1, "first": 0, "ranks": [1, 0]}]  # fmt: skip
    assert fields[24:26] == [
        {"id": 4, "name": "parallel", "paradigm": "OPENMP", "role": "PARALLEL", "address": 0x400010},
        {"id": 1, "location": 3, "thread": 1, "creator": 0, "joined": 0},
    ]
    assert fields[26] == {"location": 3, "reason": "LIMIT", "events": 17}
    assert fields[27] == {"id": 2, "addresses": [0x400010, 0x400020]}
    assert fields[28] == {"ticks": 1200, "peer": 0, "peer_ticks": 7200, "error": 3}
    assert fields[34:] == [
        {"clock": "CPU", "period": 10_000_000, "tick": 4_000_000, "signal": 64, "event": None},
        {"location": 0, "samples": 3, "weight": 30_000_000, "overruns": 1, "lost": 0, "overwritten": 0,
         "ends": [2, 1, 0, 0, 0]},
        {"id": 1, "name": "Solver.step", "file": "solve.py", "line": 12, "lines": "8000"},
        {"id": 3, "lengths": [1], "periodic": 1},
        {"id": 3, "peer": 1, "leader": 2},
        {"id": 4, "names": ["page-faults", "cpu"], "units": ["#", "#"],
         "descriptions": ["page faults", "number of the CPU"], "modes": "ap", "at_calls": True},
        {"id": 3, "code": 0x400010, "address": 0x404010},
        {"location": 0, "region": 1, "site": 2, "calls": 30, "ticks": 5_000_000},
        {"id": 4, "name": "CUDA_WINDOW", "paradigm": "CUDA"},
    ]  # fmt: skip
    assert fields[29:34] == [{"id": 1, "text": "step 3"}, {"id": 1, "name": "steps", "severity": "HINT"},
                           {"text": "made on a Monday"}, {"id": 1, "name": "queue"},
                           {"of": "METRIC", "id": 1, "group": "weather"}]  # fmt: skip
    text = dumped(run, "a.1.def.z").stdout
    assert 'definition 0:0 PROPERTY key=command value=./a,"two words"\n' in text
    assert 'COMM_NAME id=2 name="row\\n0"' in text
    assert "bias=0x400000 path=/nowhere/prog build_id=abcd" in text


def test_heads(run: Path) -> None:
    found = items(run, "a", "--no-records")
    assert not of_type(found, "record")
    files, blocks = of_type(found, "file"), of_type(found, "block")
    assert [(f["content"], f["location"], f["blocks"]) for f in files] == [
        ("definitions", 0, 1), ("events", 0, 1), ("events", 3, 2)
    ]  # fmt: skip
    assert files[1].items() >= {"rank": 0, "pid": 100, "host": "node1", "run": (b"R" * 16).hex(), "world": 7}.items()
    assert files[1]["bytes"] == (run / "a.1.events.z").stat().st_size
    chunk = every_kind()
    assert blocks[1]["raw_bytes"] == len(chunk.data)
    assert blocks[1].items() >= {
        "offset": r.FILE_HEAD, "sequence": 0, "codec": "zstd-columns", "records": chunk.records, "thread": 100,
        "ticks": 1000, "end_ticks": chunk.end_ticks,
    }.items()  # fmt: skip
    assert {"function", "new_code", "message", "collective", "control"} <= set(blocks[1]["classes"])
    assert blocks[2].items() >= {"depth": 5, "lost": 2, "open": ["prog+0x20", "MPI_Send", "prog+0x10"]}.items()


@pytest.mark.parametrize(
    ("words", "kinds"),
    [
        (["--only", "SEND"], ["SEND"]),
        (["--only", "send", "--only", "Coll_End"], ["SEND", "COLL_END", "COLL_END"]),
        (["--only", "METRIC", "--no-records"], ["METRIC", "METRIC"]),
        (["--only", "FUNCTION_ENTER", "--location", "3"], ["FUNCTION_ENTER"]),
        (["--only", "CLOCK"], ["CLOCK"]),
        (["--only", "CLOCK", "--location", "9"], []),
        (["--only", "ATTRIBUTE"], ["ATTRIBUTE"] * 5),
    ],
)
def test_only(run: Path, words: list[str], kinds: list[str]) -> None:
    assert [item["kind"] for item in items(run, "a", *words)] == kinds


def test_one_file_takes_names_from_its_process(run: Path) -> None:
    found = items(run, "a.10003.events.z")
    assert [f["path"] for f in of_type(found, "file")] == ["a.10003.events.z"]
    assert [item["name"] for item in of_type(found, "record")] == ["MPI_Send", "prog+0x20"]
    (run / "a.1.def.z").unlink()
    found = items(run, "a.10003.events.z")
    assert [item["name"] for item in of_type(found, "record")] == ["?", "0x1020"]


def test_prefix_of_an_executable(run: Path) -> None:
    """The prefix is the name of an executable beside the files, as usual after a run: prog, prog.1.def.z ..."""
    (run / "a").write_bytes(b"\x7fELF and so on")
    assert len(of_type(items(run, "a"), "file")) == 3
    assert len(of_type(items(run.parent, f"{run.name}/a"), "file")) == 3


def test_control_file(run: Path) -> None:
    text = f"vtrace uctl 1\nrun {(b'R' * 16).hex()}\nworld 7\nranks 1\ntool vtrace 0.1.0\n"
    (run / "a.uctl").write_text(text)
    known = {"run": (b"R" * 16).hex(), "world": 7, "ranks": 1, "tool": "vtrace 0.1.0"}
    assert items(run, "a.uctl") == [{"type": "uctl", "path": "a.uctl"} | known] == items(run, "a")[:1]
    (run / "a.uctl").write_text("vtrace uctl 1\n")
    done = dumped(run, "a.uctl", check=False)
    assert (done.returncode, errors(done)) == (1, 1)


def test_buffer(tmp_path: Path) -> None:
    """The buffer of a killed process: dump shows full and filling chunks of two locations, and no free chunks."""
    defined = Chunk(0, 0, content=r.DEFINITION_DATA).define("REGION", 1, "work", 1, 1, None, 0)
    chunks = [
        Chunk(1, 0, 10).record("ENTER", 1, 1), Chunk(0, 1, 30).record("LEAVE", 1, 1), bytes(r.CHUNK_SIZE),
        Chunk(0, 0, 20).record("ENTER", 1, 1), defined,
    ]  # fmt: skip
    write_buffer(tmp_path / "a.xnode1-100-1.buffer", chunks, filling=[1], rank=None)
    found = items(tmp_path, "a")
    assert [(c["content"], c["location"], c["sequence"], c["state"]) for c in of_type(found, "chunk")] == [
        ("definitions", 0, 0, "full"), ("events", 0, 0, "full"), ("events", 0, 1, "filling"), ("events", 1, 0, "full")
    ]  # fmt: skip
    assert [c["classes"] for c in of_type(found, "chunk")][1:] == [["region"], ["unknown"], ["region"]]
    records = [(i["location"], i["kind"], i["ticks"], i["name"]) for i in of_type(found, "record")]
    assert records == [(0, "ENTER", 21, "work"), (0, "LEAVE", 31, "work"), (1, "ENTER", 11, "work")]
    assert "pid100:1 11 +1" in dumped(tmp_path, "a.xnode1-100-1.buffer").stdout


def test_a_forked_child_uses_its_parents_definitions(run: Path) -> None:
    child = {"pid": 200, "start": 1_700_000_000_000_000_500, "rank": None, "forked": 1}
    child |= {"parent_pid": 100, "parent_start": 1_700_000_000_000_000_000}
    write_events(run / "a.xnode1-200-1.events.z", [Chunk().record("ENTER", 1, 1)], **child)
    assert items(run, "a")[-1].items() >= {"rank": None, "pid": 200, "name": "solve it"}.items()


def test_other_runs_are_named(run: Path) -> None:
    write_events(run / "a.2.events.z", [Chunk().record("ON")], run=b"Q" * 16, rank=1, world_size=2, pid=101, start=5)
    done = dumped(run, "a", "--only", "ON")
    assert len(done.stdout.splitlines()) == 1
    assert "a.2.events.z" in done.stderr


def test_closed_pipe_is_silent(tmp_path: Path) -> None:
    write_events(tmp_path / "a.1.events.z", [Chunk(0, n).record("ON", n) for n in range(500)])
    process = subprocess.Popen(
        [*command("vtrace"), "dump", "a"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().startswith(b"file")
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    process.wait()
