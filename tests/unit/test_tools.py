# SPDX-License-Identifier: BSD-3-Clause
"""The tests' own tools: skipped tests without a sanitizer's library, and the generator of large runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.tools import ROOT, call, need_sanitizer


@pytest.fixture
def bare_clang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fake clang 14 without its run-time libraries, as Debian installs it."""
    clang = tmp_path / "clang"
    clang.write_text(f'#!/bin/sh\ncase $1 in -dumpversion) echo 14.0.6;; *) echo "{tmp_path}/nowhere";; esac\n')
    clang.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")


def test_a_missing_sanitizer_is_skipped(bare_clang: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="install libclang-rt-14-dev"):
        need_sanitizer("clang", "asan")


def test_a_missing_sanitizer_fails_in_ci(bare_clang: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="install libclang-rt-14-dev"):
        need_sanitizer("clang", "asan")


def test_synthetic_runs_do_not_depend_on_jobs(tmp_path: Path) -> None:
    """The generated files do not depend on the number of threads that write them."""
    for jobs in (1, 4):
        (tmp_path / str(jobs)).mkdir()
        words = [sys.executable, ROOT / "bench" / "synthetic.py", "run", "--ranks", "8", "--events", "2e6"]
        call([*words, "-j", str(jobs)], tmp_path / str(jobs))
    names = sorted(path.name for path in (tmp_path / "1").iterdir())
    assert len(names) == 17
    for name in names:
        assert (tmp_path / "4" / name).read_bytes() == (tmp_path / "1" / name).read_bytes(), name
