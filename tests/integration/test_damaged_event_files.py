# SPDX-License-Identifier: BSD-3-Clause
"""An archive with missing or cut event files: each command reports the archive as incomplete before any number."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import _otf2
import pytest

import vtrace as api
from support.build import mpis
from support.build.builder import Builder
from support.build.run import unify, vtrace
from support.synthetic_runs.archives import Foreign
from support.tools import Done

MISSING = "1 event file missing in the archive (0.evt)"
CUT = "the archive's event files have "


@pytest.fixture(scope="module")
def whole(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("whole")
    mpi = mpis.find("mpich-wheel", build)
    mpi.run(mpi.build("mpi_messages.c"), where, ranks=2)
    unify(where, "mpi_messages")
    return where


@pytest.fixture(params=[MISSING, CUT], ids=["missing", "cut"])
def damaged(request: pytest.FixtureRequest, whole: Path, tmp_path: Path) -> tuple[Path, str]:
    shutil.copytree(whole, tmp_path / "p")
    events = tmp_path / "p" / "mpi_messages.trace" / "traces" / "0.evt"
    if request.param == MISSING:
        events.unlink()
    else:
        events.write_bytes(events.read_bytes()[: events.stat().st_size // 2])
    return tmp_path / "p", request.param


def told(done: Done, text: str) -> bool:
    return any("incomplete" in line and text in line for line in (done.stdout + done.stderr).splitlines())


@pytest.mark.parametrize("words", [("summary",), ("timers", "--all"), ("profile",), ("mpip",), ("report",), ("score",),
                                   ("summary", "--csv"), ("diff", "mpi_messages"), ("export", "--to", "csv")],
                         ids=" ".join)  # fmt: skip
def test_each_command_warns_first(damaged: tuple[Path, str], words: tuple[str, ...]) -> None:
    place, text = damaged
    done = vtrace(place, words[0], "mpi_messages", *words[1:], check=False)
    assert told(done, text), str(done)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", [".def", ".marker", "/0.def", "/1.evt"])
def test_a_pipe_in_place_of_a_file(whole: Path, tmp_path: Path, name: str) -> None:
    """libotf2 would wait forever for data that no process writes."""
    shutil.copytree(whole, tmp_path / "p")
    place = Path(f"{tmp_path}/p/mpi_messages.trace/traces{name}")
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    done = vtrace(tmp_path / "p", "summary", "mpi_messages", check=False)
    assert done.returncode == 1, str(done)
    assert f"traces{name}: not a regular file" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_whole_archive_is_complete(whole: Path) -> None:
    found = json.loads(vtrace(whole, "info", "--json", "mpi_messages").stdout)
    assert (found["complete"], found["shortfalls"]) == (True, [])
    assert "incomplete" not in vtrace(whole, "summary", "mpi_messages").stdout


def test_info(damaged: tuple[Path, str]) -> None:
    place, text = damaged
    found = json.loads(vtrace(place, "info", "--json", "mpi_messages").stdout)
    assert found["complete"] is False
    assert found["shortfalls"][0].startswith(text)
    lines = vtrace(place, "info", "mpi_messages").stdout.splitlines()
    assert any(line.split()[:2] == ["complete", "no:"] and text in line for line in lines)
    assert not any("all events recorded" in line for line in lines)


def test_summary_and_the_python_api(damaged: tuple[Path, str]) -> None:
    place, text = damaged
    assert text in json.loads(vtrace(place, "summary", "--json", "mpi_messages").stdout)["caveats"][0]
    trace = api.open(place / "mpi_messages.trace")
    assert text in trace.caveats()[0]
    assert text in trace.markers().caveats[0]


def test_locations_of_no_process(tmp_path: Path) -> None:
    """The group of each location is not defined, and a class of metrics has more members than it names."""
    archive = Foreign(tmp_path / "t.trace", "traces")
    metric = (5, "Metric", 0, [_otf2.TYPE_UINT64] * 2, [_otf2.MetricValue(uint64=7)] * 2)
    archive.events(0, [(0, "Enter", 0), metric, (9, "Leave", 0)])
    archive.begin_definitions()
    archive.machine(groups=0)
    archive.location(0, group=7)
    archive.region(0, "main")
    archive.close()
    for words in (["profile", "--by", "section"], ["export", "--to", "csv", "-o", "out"], ["summary"], ["info"]):
        done = vtrace(tmp_path, words[0], "t.trace", *words[1:], check=False)
        assert done.returncode in (0, 1), str(done)
        assert "Traceback" not in done.stderr, str(done)
    done = vtrace(tmp_path, "view", "t.trace", "--text")
    assert "thread 0" in done.stdout
