# SPDX-License-Identifier: BSD-3-Clause
"""Functions shared by all benchmarks: running programs, medians of pairs, rows of the table."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("VT_")} | {
    "VT_VERBOSE": "0",
    "VT_UNIFY": "no",
    "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
}


@dataclass
class Row:
    """One row of the table. floor and measured have the same unit. ratio is the median of the ratios within one
    repetition, not the ratio of the medians. held: the measured value meets the bar."""

    what: str
    unit: str
    floor: float | None
    measured: float
    ratio: float | None
    bar: str
    held: bool


def run(*words: object, cwd: Path, **settings: str) -> list[float]:
    """The numbers that a program prints."""
    done = subprocess.run(
        [str(w) for w in words], cwd=cwd, env=ENVIRONMENT | settings, check=True, capture_output=True, text=True
    )
    return [float(w) for w in done.stdout.split()]


def build(*words: object, cwd: Path) -> None:
    """Calls a compiler and shows its messages."""
    subprocess.run([str(w) for w in words], cwd=cwd, env=ENVIRONMENT, check=True)


def against_floor(what: str, pairs: Sequence[tuple[float, float]], most: float, unit: str = "ns") -> Row:
    """A row of (floor, measured) pairs; the ratio must not exceed most."""
    ratio = statistics.median(measured / floor for floor, measured in pairs)
    return Row(
        what, unit, statistics.median(f for f, _ in pairs), statistics.median(m for _, m in pairs), ratio,
        f"<= {most} x floor", ratio <= most,
    )  # fmt: skip


def at_most(what: str, unit: str, values: Sequence[float], most: float) -> Row:
    """A row whose median must not exceed most."""
    value = statistics.median(values)
    return Row(what, unit, None, value, None, f"<= {most:g} {unit}", value <= most)


def at_least(what: str, unit: str, values: Sequence[float], least: float) -> Row:
    """A row whose median must reach least."""
    value = statistics.median(values)
    return Row(what, unit, None, value, None, f">= {least:g} {unit}", value >= least)
