# SPDX-License-Identifier: BSD-3-Clause
"""A command in a forked process (support/forked.py) does the same as in a new process."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from support.forked import BIN, Ended, run_forked
from support.tools import environment, unavailable


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    if not (BIN / "vtrace").exists():
        unavailable("vtrace is not installed beside this Python")
    monkeypatch.delenv("NEW_PROCESSES", raising=False)


def forked(cwd: Path, *words: str, timeout: float = 60, **env: str) -> Ended | None:
    return run_forked([str(BIN / words[0]), *words[1:]], cwd, environment(env), environment(), timeout, b"")


@pytest.mark.parametrize(
    ("words", "env"),
    [
        (("vtrace", "settings"), {"VT_BUFFER_SIZE": "3M"}),
        (("vtrace", "settings", "--json"), {}),
        (("vtrace", "filter", "rules", "--explain", "work"), {}),
        (("vtrace", "info", "näme"), {}),
        (("vtrace", "info", "--no-such-option"), {}),
        (("vtunify", "nothing"), {"VT_VERBOSE": "3"}),
        (("vtunify", "--help"), {}),
        (("vtrace-cc", "-vt:seq", "-vt:show", "main.c"), {}),
        (("vtrace-cc", "-vt:seq", "missing.c"), {}),
    ],
)
def test_same_as_a_new_process(tmp_path: Path, words: tuple[str, ...], env: dict[str, str]) -> None:
    """Twice, since the first process sends the server its modules."""
    (tmp_path / "rules").write_text("work -- 10\n")
    new = subprocess.run([BIN / words[0], *words[1:]], cwd=tmp_path, env=environment(env), capture_output=True)
    for _ in range(2):
        assert forked(tmp_path, *words, **env) == (new.returncode, new.stdout, new.stderr)


def test_a_late_command_is_killed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rules")
    with pytest.raises(subprocess.TimeoutExpired):
        forked(tmp_path, "vtrace", "filter", "rules", timeout=0.5)
    assert forked(tmp_path, "vtrace", "filter", "missing") is not None


def test_other_commands_need_new_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that are not vtrace's, sub-commands that start programs, other variables at the start of Python."""
    assert forked(tmp_path, "python", "-c", "pass") is None
    assert forked(tmp_path, "vtrace", "run", "true") is None
    assert forked(tmp_path, "vtrace") is None
    assert run_forked(["vtrace", "settings"], tmp_path, environment(), environment(), 60, b"") is None
    assert forked(tmp_path, "vtrace", "settings", LC_ALL="C") is None
    assert forked(tmp_path, "vtrace", "settings", PYTHONPATH="x") is None
    assert forked(tmp_path / "missing", "vtrace", "settings") is None
    monkeypatch.setenv("NEW_PROCESSES", "yes")
    assert forked(tmp_path, "vtrace", "settings") is None
