# SPDX-License-Identifier: BSD-3-Clause
"""Local files that were recorded earlier, one run for each version of their format, in tests/archives."""

from __future__ import annotations

import json
import re
import tarfile
from pathlib import Path

import pytest

from support.build.run import names, unify
from support.oracles.check import check
from support.oracles.user_api import ALL, MARKERS, story
from support.tools import ROOT
from vtrace.io.local import records

RECORDED = sorted((ROOT / "tests" / "archives").glob("local-*.tar.xz"))


def version(path: Path) -> int:
    found = re.fullmatch(r"local-(\d+)-user\.tar\.xz", path.name)
    assert found, path
    return int(found[1])


def test_there_is_one_of_this_version() -> None:
    assert [version(path) for path in RECORDED].count(records.FORMAT_VERSION) == 1


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_recorded_run(path: Path, tmp_path: Path) -> None:
    """What user.c does, as on the day when it was recorded; files of another version are refused in one line."""
    with tarfile.open(path) as packed:
        packed.extractall(tmp_path, filter="data")
    before = names(tmp_path)
    done = unify(tmp_path, "-k", "user", check=False)
    if version(path) != records.FORMAT_VERSION:
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
        assert f"format version {version(path)}" in done.stderr
        assert names(tmp_path) == before
        return
    assert (done.returncode, done.stderr.count("warning")) == (0, 0), str(done)
    trace = check(tmp_path / "u_user.trace")
    assert story(trace) == ALL
    assert [(marker.category, marker.text) for marker in trace.markers] == MARKERS
    assert json.loads(trace.properties["VTRACE::USER"]) == {"comments": ["on a Monday"]}
