# SPDX-License-Identifier: BSD-3-Clause
"""vtrace dump of the local files of recorded programs shows every record, with its name."""

from __future__ import annotations

import json
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from support.build.builder import Builder
from support.build.run import names, run, unify, vtrace
from support.oracles.check import check
from support.readers import words
from vtrace.io.local.records import PAYLOAD

COMPRESSION = pytest.mark.parametrize("compression", ["yes", "no"])
EVENTS = {
    "FUNCTION_ENTER": "Enter", "ENTER": "Enter", "FUNCTION_LEAVE": "Leave", "LEAVE": "Leave", "SEND": "MpiSend",
    "RECV": "MpiRecv", "ISEND": "MpiIsend", "ISEND_COMPLETE": "MpiIsendComplete", "IRECV_REQUEST": "MpiIrecvRequest",
    "IRECV": "MpiIrecv", "COLL_BEGIN": "MpiCollectiveBegin", "COLL_END": "MpiCollectiveEnd", "FLUSH": "BufferFlush",
}  # fmt: skip
"""The OTF2 event that vtunify writes for a record."""


def dump(cwd: Path, *args: str | Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in vtrace(cwd, "dump", "--json", *args).stdout.splitlines()]


def records(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the waits for a processor, which a busy machine brings."""
    return [item for item in items if item["type"] == "record" and item["kind"] != "PROCESSOR_WAIT"]


def called(items: list[dict[str, Any]], kind: str = "FUNCTION_ENTER") -> Counter[str]:
    return Counter(item["name"] for item in records(items) if item["kind"] == kind)


@COMPRESSION
def test_functions_of_threads(build: Builder, tmp_path: Path, compression: str) -> None:
    program = build("threads.c", flags=("-O1", "-pthread"))
    run(program, tmp_path, "together", "2", "20", env={"VT_COMPRESSION": compression})
    found = dump(tmp_path, "threads")
    assert called(found) == called(found, "FUNCTION_LEAVE") == {"main": 1, "body": 2, "work": 60}
    functions = [item for item in records(found) if item["kind"].startswith("FUNCTION_")]
    assert {item["at"].split("+")[0] for item in functions} == {"threads"}
    assert Counter(item["location"] for item in functions) == {0: 42, 1: 42, 2: 42}
    blocks = [item for item in found if item["type"] == "block" and item["content"] == "events"]
    assert sum(block["records"] for block in blocks) == len(records(found)) >= 126
    assert {block["codec"] == "raw" for block in blocks} == {compression == "no"}
    assert called(dump(tmp_path, "threads", "--location", "2")) == {"body": 1, "work": 20}
    shown = vtrace(tmp_path, "dump", "threads", "--only", "FUNCTION_ENTER").stdout.splitlines()
    assert Counter(line.split()[4] for line in shown) == {"main": 1, "body": 2, "work": 60}


def test_agrees_with_the_other_reader(build: Builder, tmp_path: Path) -> None:
    """tests/support/readers/words.py reads the uncompressed files independently: both have the same records."""
    run(
        build("many.c"),
        tmp_path,
        "20000",
        env={"VT_COMPRESSION": "no", "VT_BUFFER_SIZE": "200K", "VT_MAX_FLUSHES": "0"},
    )
    expected = [(r.kind, r.id, r.ticks) for r in words.events(tmp_path / "many.1.events")]
    found = records(dump(tmp_path, "many"))
    assert [(item["kind"], item.get("offset", 0), item["ticks"]) for item in found] == expected
    assert "FLUSH" in {kind for kind, _, _ in expected}
    assert len(expected) > 40000


@COMPRESSION
def test_messages_and_collectives(build: Builder, tmp_path: Path, compression: str) -> None:
    """The counts are those of the archive; a message has the same tag and size at both ends."""
    env = {"VT_COMPRESSION": compression}
    run(build("mpi_messages.c", compiler="mpicc"), tmp_path, ranks=2, env=env)
    found = dump(tmp_path, "mpi_messages")
    unify(tmp_path, "mpi_messages")
    trace = check(tmp_path / "mpi_messages.trace")
    counts = Counter(EVENTS[item["kind"]] for item in records(found))
    for item in records(found):
        values = {value.name for word in PAYLOAD.get(item["kind"], ()) for value in word}
        assert values <= item.keys(), "every value of a payload needs a name"
    assert counts == trace.kinds()
    assert counts["MpiSend"] > 10
    regions = Counter(i["name"] for i in records(found) if i["kind"] in ("ENTER", "FUNCTION_ENTER"))
    assert regions == Counter(trace.region_of(event).name for event in trace.events if event.kind == "Enter")
    assert {item["rank"] for item in records(found)} == {0, 1}
    assert {i["name"] for i in records(found) if "comm" in i} == {"MPI_COMM_WORLD"}
    ends = {
        sent: Counter((i["tag"], i["bytes"]) for i in records(found) if i["kind"] in kinds)
        for sent, kinds in ((True, ("SEND", "ISEND")), (False, ("RECV", "IRECV")))
    }
    assert ends[True] == ends[False]
    run_ids = {item["run"] for item in found if item["type"] in ("file", "uctl")}
    assert len(run_ids) == 1


def test_libraries(build: Builder, tmp_path: Path) -> None:
    flags = ("-O1", "-shared", "-fPIC", "-DNAME=inside")
    library = build("plugin.c", flags=flags, output="libplugin.so")
    run(build("loader.c", flags=("-O1", "-ldl")), tmp_path, library)
    found = records(dump(tmp_path, "loader"))
    assert {i["at"].split("+")[0] for i in found if i["name"] in ("inside", "entry")} == {"libplugin.so"}
    plain = records(dump(tmp_path, "loader", "--no-names"))
    assert Counter(i["name"] for i in plain) == Counter(i["at"] for i in found)


@COMPRESSION
def test_buffer_of_a_killed_process(build: Builder, tmp_path: Path, compression: str) -> None:
    env = {"VT_COMPRESSION": compression}
    program = build("endings.c", flags=("-O1", "-pthread"))
    run(program, tmp_path, "kill", "100", env=env, code=-signal.SIGKILL)
    (buffer,) = (name for name in names(tmp_path) if name.endswith(".buffer"))
    for target in ("endings", buffer):
        found = dump(tmp_path, target)
        assert called(found) == {"main": 1, "work": 100}
        assert called(found, "FUNCTION_LEAVE") == {"work": 100}
        assert {chunk["state"] for chunk in found if chunk["type"] == "chunk" and chunk["content"] == "events"} == {
            "filling"
        }
    assert vtrace(tmp_path, "dump", buffer).stdout.splitlines()[-1].split()[0].startswith("pid")


def test_flushed_blocks_and_the_rest_in_the_buffer(build: Builder, tmp_path: Path) -> None:
    env = {"VT_BUFFER_SIZE": "100K", "VT_MAX_FLUSHES": "0"}
    program = build("endings.c", flags=("-O1", "-pthread"))
    run(program, tmp_path, "kill", "20000", env=env, code=-signal.SIGKILL)
    found = dump(tmp_path, "endings")
    assert {"block", "chunk"} <= {item["type"] for item in found}
    assert called(found) == {"main": 1, "work": 20000}
    chunks = [item for item in found if item["type"] == "chunk" and item["content"] == "events"]
    assert chunks
    assert all(chunk["open"] and chunk["open"][0] == "main" for chunk in chunks)
