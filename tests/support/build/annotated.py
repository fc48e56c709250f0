# SPDX-License-Identifier: BSD-3-Clause
"""Builds programs with annotations, and records them by vtrace run."""

from __future__ import annotations

import sysconfig
from collections.abc import Mapping
from pathlib import Path

from support.build.builder import Builder
from support.build.run import unify, vtrace
from support.oracles.check import check
from support.readers.archive import Trace
from support.tools import unavailable


def nvtx_headers() -> Path:
    """The directory of nvtx3/ in PyPI's nvidia-nvtx."""
    found = sorted(Path(sysconfig.get_path("purelib")).glob("nvidia/*/include/nvtx3"))
    if not found:
        unavailable("nvidia-nvtx is not installed")
    return found[-1].parent


def nvtx_program(build: Builder, source: str, *flags: str) -> Path:
    return build(source, flags=("-O1", f"-I{nvtx_headers()}", *flags, "-lpthread", "-ldl"), plain=True)


def record_annotated(
    place: Path, *words: str | Path, env: Mapping[str, str] | None = None, code: int = 0, complete: bool = True
) -> tuple[Trace, str]:
    """Runs a program by vtrace run and returns the checked trace, and what vtrace run printed on standard error."""
    done = vtrace(place, "run", "-o", "run", *words, env=env, check=False)
    assert done.returncode == code, str(done)
    unify(place, "run")
    return check(place / "run.trace", complete=complete), done.stderr
