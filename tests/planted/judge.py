# SPDX-License-Identifier: BSD-3-Clause
"""Runs a planted program in a mode, and compares the findings of vtrace diagnose with the truth."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planted.plants import KNOWS_FUNCTIONS, RUN, Plant
from support.build.builder import Builder
from support.build.run import unify, vtrace
from support.tools import DEFAULTS, call

PROGRAMS = Path(__file__).parent / "programs"
FALSE_CAUSE = 0.03
"""The least share of a finding in a healthy program that makes the finding false."""
_OF_MACHINE = ("noise", "oversubscribed")
"""Kinds of findings about processors that the kernel gave to others: true, and no property of the program."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """first: the first finding is right. found: any is. false: shares of findings in a healthy program. error: of the
    loss of the right finding, by the truth. told: what the first finding says."""

    first: bool
    found: bool
    false: tuple[float, ...] = ()
    error: float | None = None
    told: str = ""


def judged(findings: list[dict[str, Any]], plant: Plant, mode: str) -> Verdict:
    findings = [one for one in findings if one["kind"] not in _OF_MACHINE]
    told = " ".join(str(findings[0][key]) for key in ("kind", "culprit", "share")) if findings else "nothing"
    if plant.cause is None:
        false = tuple(one["share"] for one in findings if one["kind"] != "computation" and one["share"] > FALSE_CAUSE)
        return Verdict(first=not false, found=not false, false=false, told=told)
    right = [one for one in findings if is_right(one, plant, mode)]
    error = right[0]["loss_ns"] / 1e9 / plant.cause.loss - 1 if right and plant.cause.loss else None
    return Verdict(first=bool(findings) and findings[0] in right, found=bool(right), error=error, told=told)


def is_right(finding: dict[str, Any], plant: Plant, mode: str) -> bool:
    cause = plant.cause
    assert cause is not None
    if finding["kind"] != cause.kind:
        return False
    if cause.culprits is not None and set(culprits(finding)) != set(cause.culprits):
        return False
    return mode not in KNOWS_FUNCTIONS or cause.function in finding["culprit"]


def culprits(finding: dict[str, Any]) -> list[int]:
    """The ranks that a finding blames: "ranks 0-2,5, relax (a.c:3)" are 0, 1, 2, 5."""
    named = re.match(r"ranks? ([\d,-]+)", finding["culprit"])
    spans = [part.split("-") for part in named[1].strip(",").split(",")] if named else []
    return [rank for span in spans for rank in range(int(span[0]), int(span[-1]) + 1)]


def record(build: Builder, plant: Plant, mode: str, where: Path) -> list[dict[str, Any]]:
    """Runs the program in a directory. Returns the findings."""
    where.mkdir(parents=True, exist_ok=True)
    compiler = "mpicc.mpich" if plant.ranks else "gcc"
    flags = ("-O2", "-g", "-lm", "-pthread")
    program = str(build(PROGRAMS / plant.program, compiler=compiler, flags=flags, plain=mode != "cc"))
    start = ("mpiexec.mpich", "-n", str(plant.ranks)) if plant.ranks else ()
    environment = DEFAULTS | ({"PLANT_COMPUTES": "1"} if plant.computes else {})
    if mode == "cc":
        call((*start, program, *plant.words), where, environment | {"VT_FILE_PREFIX": "t"})
    else:
        vtrace(where, "run", "-o", "t", *RUN[mode], *start, program, *plant.words, env=environment)
    unify(where, "t")
    found: list[dict[str, Any]] = json.loads(vtrace(where, "diagnose", "--json", "t").stdout)["findings"]
    return found
