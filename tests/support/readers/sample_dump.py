# SPDX-License-Identifier: BSD-3-Clause
"""Reads the samples of local files as vtrace dump lists them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from support.build.run import vtrace

Item = dict[str, Any]


def items(where: Path, target: str, *options: str) -> list[Item]:
    """All lines of vtrace dump --json, which must not warn of missing files."""
    done = vtrace(where, "dump", target, "--json", *options)
    assert "warning" not in done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def samples(where: Path, target: str, location: int | None = None) -> list[Item]:
    """The samples of a run or file, in order; only of a location if given."""
    found = items(where, target, "--only", "SAMPLE")
    return [item for item in found if location is None or item["location"] == location]


def sums(where: Path, target: str) -> dict[int, Item]:
    """The definitions SAMPLES of a run of one process, by location."""
    fields = [item["fields"] for item in items(where, target, "--only", "SAMPLES")]
    return {of["location"]: of for of in fields}


def weights(found: Iterable[Item]) -> Counter[str]:
    """The ns of each function in which samples were taken."""
    total: Counter[str] = Counter()
    for sample in found:
        total[sample["stack"][0]] += sample["weight"]
    return total
