# SPDX-License-Identifier: BSD-3-Clause
"""Programs whose time is changed: by a preloaded library, and by a time namespace. All processes of a run agree."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.build.run import unify, vtrace
from support.tools import PROGRAMS, call, need

HOUR = 3600 * 10**9


def duration(here: Path, *words: str) -> int:
    """The ns of a run of these words, each process of which records I/O."""
    vtrace(here, "run", "--io", "-o", "t", *words)
    unify(here, "t")
    summary = json.loads(vtrace(here, "summary", "--json", "t").stdout)
    assert summary["processes"] >= 2
    return int(summary["duration_ns"])


@pytest.mark.parametrize("counter", ["yes", "no"])
def test_preloaded_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counter: str) -> None:
    """A child with a library that reads all clocks a year later."""
    monkeypatch.setenv("VT_CLOCK_COUNTER", counter)
    call([need("gcc"), "-shared", "-fPIC", PROGRAMS / "later.c", "-o", "later.so"], tmp_path)
    shown = call(["sh", "-c", "date +%Y; LD_PRELOAD=./later.so date +%Y"], tmp_path).stdout.split()
    assert int(shown[1]) == int(shown[0]) + 1, "the library must change the time"
    script = 'cat /dev/null; LD_PRELOAD="$LD_PRELOAD:./later.so" cat /dev/null; cat /dev/null'
    assert duration(tmp_path, "sh", "-c", script) < HOUR


@pytest.mark.parametrize("counter", ["yes", "no"])
def test_time_namespace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counter: str) -> None:
    monkeypatch.setenv("VT_CLOCK_COUNTER", counter)
    space = [need("unshare"), "-T", "--monotonic", "100000", "--boottime", "100000", "--fork"]
    if call([*space, "true"], tmp_path, check=False).returncode:
        pytest.skip("time namespaces need root and Linux 5.6")
    assert duration(tmp_path, "sh", "-c", f"cat /dev/null; {' '.join(space)} cat /dev/null; cat /dev/null") < HOUR
