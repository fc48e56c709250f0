# SPDX-License-Identifier: BSD-3-Clause
"""ITT, by C programs that play its static part and by Python's ittapi; Kokkos Tools, by programs that play Kokkos."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest

from support.build.annotated import record_annotated
from support.build.builder import Builder
from support.build.run import names, vtrace
from support.oracles.user_api import defined, pair, story
from support.readers.archive import Trace

PLAIN = ("-O1", "-lpthread", "-ldl")
MAIN = [
    "+whole", *pair("part"), "-whole", *pair("part"), "+whole", *pair("part"), "-whole", "0=0.5", "1=5", "1=8",
]  # fmt: skip


def _check_itt(trace: Trace) -> None:
    own = [word for word in story(trace) if "pthread" not in word and not word.startswith("Thread")]
    assert [word for word in own if word not in ("OFF", "ON")] == MAIN
    by_name = {location.name: n for n, location in trace.locations.items()}
    assert trace.calls(by_name["itt worker"]) == {"part": 100}
    lanes = [story(trace, by_name[f"Ranges {n}"]) for n in (1, 2)]
    assert lanes == [[*pair("whole"), *pair("frame"), *pair("event")], [*pair("whole"), *pair("frame")]]
    markers = [(m.category, m.text) for m in trace.markers]
    assert ("solver", "part") in markers
    tasks = [event.more for event in trace.of(0) if event.kind == "Enter" and event.more.keys() & {"ANNOTATION_ID"}]
    assert tasks == [{"ANNOTATION_ID": 40}, {"ANNOTATION_ID": 41, "ANNOTATION_PARENT": 40}]
    assert [text for domain, text in markers if domain == "earlier"] == [
        "task is dependent on 40", "40 is predecessor to 41",
    ]  # fmt: skip


def test_itt(build: Builder, tmp_path: Path) -> None:
    """Tasks, also of a domain that is older than the library; overlapped tasks and regions that a thread ends; frames,
    markers, counters, events, a pause."""
    trace, _ = record_annotated(tmp_path, build("itt_calls.c", flags=PLAIN, plain=True))
    _check_itt(trace)
    assert trace.kinds()["MeasurementOnOff"] >= 2
    found = defined(trace.path)
    assert [(name, kind) for name, _, kind, _ in found.metrics] == [("load", "DOUBLE"), ("queue", "UINT64")]
    groups = {name: members for name, (kind, members) in found.groups.items() if kind == "REGIONS"}
    assert groups == {"solver": ["whole", "part", "frame"], "earlier": ["whole", "part"], "ITT": ["event"]}


def test_itt_kill(build: Builder, tmp_path: Path) -> None:
    program = build("itt_calls.c", flags=PLAIN, plain=True)
    trace, _ = record_annotated(tmp_path, program, "kill", code=-9, complete=False)
    _check_itt(trace)


def test_itt_not_recorded(build: Builder, tmp_path: Path) -> None:
    """The program itself then has no library to load."""
    program = build("itt_calls.c", flags=PLAIN, plain=True)
    for words, env in ((["--annotations", "nvtx"], {}), ([], {"VT_ANNOTATIONS": "kokkos"})):
        assert vtrace(tmp_path, "run", *words, program, env=env, check=False).returncode == 3
    assert names(tmp_path) == set()


PYTHON = """
import ittapi
for _ in range(5):
    with ittapi.task("work", domain="pyd"): pass
t = ittapi.task("overlapped", domain="pyd", overlapped=True)
t.begin(); t.end()
e = ittapi.event("ev")
e.begin(); e.end()
"""


def test_itt_python(tmp_path: Path) -> None:
    """ittapi of PyPI, with Intel's own static part."""
    (tmp_path / "annotated.py").write_text(PYTHON)
    trace, said = record_annotated(tmp_path, sys.executable, "annotated.py")
    assert story(trace) == pair("work", 5)
    assert story(trace, 1) == [*pair("overlapped"), *pair("ev")]
    assert "little is recorded" not in said


@pytest.mark.parametrize("old", [False, True], ids=["4", "3.4"])
def test_kokkos(build: Builder, tmp_path: Path, old: bool) -> None:
    """A Kokkos of each generation gets the one variable that it wants."""
    flags = [*PLAIN, *(["-DOLD"] if old else [])]
    trace, _ = record_annotated(tmp_path, build("kokkos_calls.c", flags=flags, plain=True))
    kernels = [*pair("axpy"), *pair("dot"), *pair("unnamed"), *pair("Kokkos::fence")] * 10
    copy = "deep_copy Host to Cuda"
    assert story(trace) == ["+step", *kernels, "-step", "0=1000", "1=4000", f"+{copy}", "2=800", f"-{copy}", "0=0"]
    assert [story(trace, n) for n in (1, 2)] == [pair("assembly"), pair("solve")]
    found = defined(trace.path)
    assert [name for name, *_ in found.metrics] == ["Host bytes", "Cuda bytes", copy]
    assert "Kokkos" in found.groups
    assert [(m.category, m.text) for m in trace.markers] == [("Kokkos", "converged")]


def test_kokkos_kernels_by_label(build: Builder, tmp_path: Path) -> None:
    """A rule and --select name a kernel by its label, and all kernels by the domain."""
    (tmp_path / "rules").write_text("axpy -- 3\nKokkos::* -- 0\n")
    program, env = build("kokkos_calls.c", flags=PLAIN, plain=True), {"VT_FILTER_SPEC": str(tmp_path / "rules")}
    trace, _ = record_annotated(tmp_path, program, env=env)
    counts = trace.calls()
    assert (counts["axpy"], counts["dot"], counts["Kokkos::fence"]) == (3, 10, 0)
    for pattern, expected in (("region=dot", {"dot"}), ("domain=Kokkos", {"axpy", "dot", "unnamed"})):
        rows = vtrace(tmp_path, "profile", "run", "--csv", "--select", pattern).stdout.splitlines()
        shown = {row["function"] for row in csv.DictReader(rows)}
        assert shown & {"axpy", "dot", "unnamed", "main"} == expected


def test_kokkos_own_tool(build: Builder, tmp_path: Path) -> None:
    """Kokkos would abort if both variables named a tool each."""
    program = build("kokkos_calls.c", flags=PLAIN, plain=True)
    tool = {"KOKKOS_PROFILE_LIBRARY": "/tool.so"}
    done = vtrace(tmp_path, "run", program, env=tool, check=False)
    assert done.returncode == 3
    assert "vtrace: warning: KOKKOS_PROFILE_LIBRARY=/tool.so: the program keeps this tool" in done.stderr
