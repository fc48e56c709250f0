# SPDX-License-Identifier: BSD-3-Clause
"""vtrace info: the host, user, time, settings and contents of an archive, and of local files before unifying."""

from __future__ import annotations

import json
import platform
import shutil
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from support.build.builder import Builder
from support.build.run import run, unify, vtrace
from support.oracles.check import check
from support.tools import call

EVENTS = {
    "Enter": 67, "Leave": 67, "ThreadCreate": 2, "ThreadBegin": 2, "ThreadEnd": 2, "ThreadWait": 2,
}  # fmt: skip
"""63 functions, and the creation and join of two threads."""


@pytest.fixture(scope="module")
def archive(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of a main thread and two threads with 20 calls each, recorded with two changed settings."""
    directory = tmp_path_factory.mktemp("info")
    env = {"VT_BUFFER_SIZE": "2M", "VT_MAX_FLUSHES": "5"}
    run(build("threads.c", flags=("-O1", "-pthread")), directory, "together", "2", "20", env=env)
    unify(directory, "threads")
    return directory / "threads.trace"


def info(cwd: Path, target: str | Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(vtrace(cwd, "info", "--json", target).stdout)
    return found


def test_as_json(archive: Path) -> None:
    found = info(archive.parent, "threads")
    assert found["about"]["command"][1:] == ["together", "2", "20"]
    assert found["about"]["command"][0].endswith("/threads")
    assert found["about"]["directory"] == str(archive.parent)
    assert found["machine"]
    assert found["settings"]["VT_BUFFER_SIZE"] == "2M"
    assert found["settings"]["VT_MAX_FLUSHES"] == "5"
    assert found["settings"]["VT_COMPRESSION"] == "yes"
    assert found["events"] == EVENTS == check(archive).kinds()
    assert [(line["name"], line["events"], line["host"]) for line in found["locations"]] == [
        (name, events, platform.node()) for name, events in [("Master thread", 54), ("Thread 1", 44), ("Thread 2", 44)]
    ]
    assert found["coverage"]["lost"] == 0
    assert sum(line["seconds"] for line in found["locations"]) > 0
    age = datetime.now(UTC) - datetime.fromisoformat(found["start"])
    assert timedelta(0) <= age + timedelta(seconds=1) < timedelta(hours=1)


def test_damaged_count_of_the_anchor_file(archive: Path, tmp_path: Path) -> None:
    """A false count in the anchor file, which makes libotf2 read without end: the command fails after 1 s."""
    damaged = tmp_path / "t.trace"
    shutil.copytree(archive, damaged)
    anchor = bytearray((damaged / "traces.otf2").read_bytes())
    anchor[48] = 0xFF
    (damaged / "traces.otf2").write_bytes(anchor)
    code = "import vtrace.io.archive.reader as r, vtrace.main as m; r.OPEN_SECONDS = 1; raise SystemExit(m.main())"
    done = call([sys.executable, "-c", code, "info", damaged], tmp_path, check=False, timeout=60)
    assert done.returncode == 1
    assert "traces.otf2: OTF2 cannot open it within 1 s (is the file damaged?)\n" in done.stderr
    assert done.stderr.count("\n") == 1
