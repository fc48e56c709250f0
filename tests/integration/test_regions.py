# SPDX-License-Identifier: BSD-3-Clause
"""vtrace regions against the calls that another reader finds."""

from __future__ import annotations

from pathlib import Path

from support.build.builder import Builder
from support.build.run import record, vtrace


def test_names(build: Builder, tmp_path: Path) -> None:
    trace = record(build("nested.c"), tmp_path)
    assert vtrace(tmp_path, "regions", "nested").stdout.splitlines() == sorted(trace.calls())
