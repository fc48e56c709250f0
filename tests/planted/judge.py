# SPDX-License-Identifier: BSD-3-Clause
"""Runs a planted program in a mode, and compares the findings of vtrace diagnose with the truth."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from planted.plants import KNOWS_FUNCTIONS, RUN, VARIABLES, Plant
from support.build import mpis
from support.build.builder import Builder
from support.build.run import unify, vtrace
from support.tools import DEFAULTS, call
from vtrace.analysis.findings.diagnosis import Diagnosis
from vtrace.analysis.findings.finding import Finding
from vtrace.analysis.selection import Selection
from vtrace.analysis.trace import Trace

PROGRAMS = Path(__file__).parent / "programs"
FALSE_CAUSE = 0.03
"""The least share of a finding in a healthy program that makes the finding false."""
_OF_MACHINE = ("noise", "oversubscribed")
"""Kinds of findings about processors that the kernel gave to others: true, and no property of the program."""
_COMPILERS = {".c": "gcc", ".cpp": "g++", ".f90": "gfortran"}
_MPI_COMPILERS = {".c": "mpicc", ".cpp": "mpicxx", ".f90": "mpifort"}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """first: the first finding is right. found: any is. false: shares of findings in a healthy program. error: of the
    loss of the right finding, by the truth. told: what the first finding says."""

    first: bool
    found: bool
    false: tuple[float, ...] = ()
    error: float | None = None
    told: str = ""


def judged(diagnosis: Diagnosis, plant: Plant, mode: str) -> Verdict:
    findings = [one for one in diagnosis.findings if one.kind not in _OF_MACHINE]
    told = f"{findings[0].kind} {findings[0].share:.1%} {findings[0].text}" if findings else "nothing"
    false = tuple(one.share for one in findings if one.kind != "computation" and one.share > FALSE_CAUSE)
    if plant.cause is None:
        return Verdict(first=not false, found=not false, false=false, told=told)
    if plant.cause.to_record:
        lines = " ".join([diagnosis.to_record, *diagnosis.notes])
        says = plant.cause.to_record in lines
        return Verdict(first=says, found=says, told=f"{told}; {lines}")
    right = [one for one in findings if is_right(one, plant, mode)]
    error = right[0].loss_ns / 1e9 / plant.cause.loss - 1 if right and plant.cause.loss else None
    return Verdict(first=bool(findings) and findings[0] in right, found=bool(right), error=error, told=told)


def is_right(finding: Finding, plant: Plant, mode: str) -> bool:
    cause = plant.cause
    assert cause is not None
    if finding.kind not in cause.kind.split():
        return False
    if cause.culprits is not None and set(culprits(finding)) != set(cause.culprits):
        return False
    if cause.words not in finding.text or cause.thread not in finding.culprit:
        return False
    if cause.iteration >= 0 and not any(cause.iteration - one in (0, 1) for one in iterations(finding)):
        return False
    return mode not in KNOWS_FUNCTIONS or cause.function in " ".join([finding.text, *finding.callpath])


def culprits(finding: Finding) -> list[int]:
    """The ranks that a finding blames: "ranks 0-2,5, relax (a.c:3)" are 0, 1, 2, 5."""
    named = re.match(r"ranks? ([\d,-]+)", finding.culprit)
    spans = [part.split("-") for part in named[1].strip(",").split(",")] if named else []
    return [rank for span in spans for rank in range(int(span[0]), int(span[-1]) + 1)]


def iterations(finding: Finding) -> list[int]:
    """The numbers in a sentence: "iterations 3, 7 to 8 of step" are 3, 7, 8. Without functions an iteration is the time
    between two calls of MPI, so that a step's work is in the iteration before."""
    named = re.match(r"iterations? ([\d, to]+)", finding.text)
    spans = re.findall(r"(\d+)(?: to (\d+))?", named[1]) if named else []
    return [number for first, last in spans for number in range(int(first), int(last or first) + 1)]


def record(build: Builder, plant: Plant, mode: str, where: Path) -> Diagnosis:
    """Runs the program in a directory."""
    where.mkdir(parents=True, exist_ok=True)
    mpi = mpis.find(plant.mpi, build) if plant.mpi else None
    start = (*mpi.launch, "-n", str(plant.ranks)) if mpi else ()
    environment = DEFAULTS | VARIABLES.get(mode, {}) | ({"PLANT_COMPUTES": "1"} if plant.computes else {})
    environment |= {"OMP_NUM_THREADS": str(plant.threads), "OMP_WAIT_POLICY": "passive"} if plant.threads else {}
    environment |= mpi.env if mpi else {}
    suffix = Path(plant.program).suffix
    if suffix == ".py":
        program = (sys.executable, str(PROGRAMS / plant.program))
        environment |= mpi.yielding if mpi else {}
    else:
        compiler = f"{_MPI_COMPILERS[suffix]}.{plant.mpi}" if mpi else _COMPILERS[suffix]
        flags = ("-O2", "-g", "-lm", "-pthread", *(("-fopenmp",) if plant.threads else ()))
        flags += ("-fno-inline",) if suffix == ".f90" else ()  # gfortran has no attribute for single functions
        flags += ("-DPLANT_MPI",) if mpi else ()
        compiled = not mode.startswith("cc")
        program = (str(build(PROGRAMS / plant.program, compiler=compiler, flags=flags, plain=compiled)),)
    if mode.startswith("cc"):
        call((*start, *program, *plant.words), where, environment | {"VT_FILE_PREFIX": "t"})
    else:
        vtrace(where, "run", "-o", "t", *RUN[mode], *start, *program, *plant.words, env=environment)
    unify(where, "t")
    return Trace(where / "t.trace" / "traces.otf2").diagnosis(Selection())
