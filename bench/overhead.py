# SPDX-License-Identifier: BSD-3-Clause
"""VT_BUDGET: the time of a program whose tiny functions are left out, against the untraced program, and the cost of
events that are only counted."""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path

from measure import ENVIRONMENT, HERE, Row, against_floor, at_most, build

PROGRAMS = HERE.parent / "tests" / "programs"
STORMS, TURNS = "300000", 1_500_000
MESH = ("16", "150", "50")
"""Side, steps and iterations: about 3 s."""
BOUND = {"VT_BUDGET": "20M,5%", "VT_BUDGET_COUNTS": "sampled"}
EXACT = {"VT_BUDGET": "20M,5%", "VT_BUDGET_COUNTS": "exact"}
MOST = 1.07
EVENTS = TURNS * 2 * (1 + 4 + 16)
"""Of budget.c: turn calls 4 times middle, which calls 4 times tiny."""


def prepare(work: Path) -> None:
    """Builds the programs, traced and untraced."""
    for name, compiler, level in (("overhead.c", "gcc", "-O2"), ("mesh.cc", "g++", "-O0")):
        words = (level, "-pthread", PROGRAMS / name, "-o")
        build(compiler, *words, f"{Path(name).stem}_plain", cwd=work)
        build(
            compiler.replace("gcc", "vtrace-cc").replace("g++", "vtrace-cxx"),
            "-vt:seq",
            *words,
            Path(name).stem,
            cwd=work,
        )
    flags = ("-vt:seq", "-O1", "-fno-inline", "-fno-optimize-sibling-calls", "-pthread")
    build("vtrace-cc", *flags, PROGRAMS / "budget.c", "-o", "budget", cwd=work)


def _cpu(work: Path, *words: str, **settings: str) -> tuple[float, str]:
    """The seconds of CPU time of a program, and what it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        words,
        cwd=work,
        env=ENVIRONMENT | {"VT_PROCESSOR_WAIT": "no"} | settings,
        check=True,
        capture_output=True,
        text=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    for file in work.glob("*.z"):
        os.unlink(file)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def measure(work: Path, repetitions: int) -> list[Row]:
    storms: list[tuple[float, float]] = []
    meshes: list[tuple[float, float]] = []
    counted: list[float] = []
    counts: list[float] = []
    for _ in range(repetitions):
        plain, bound = (_cpu(work, f"./{name}", "storm", STORMS, **BOUND)[1] for name in ("overhead_plain", "overhead"))
        storms.append((float(plain), float(bound)))
        exact = _cpu(work, "./overhead", "storm", STORMS, **EXACT)[1]
        counts.append(float(exact) - float(plain))
        plain_mesh, bound_mesh = (_cpu(work, f"./{name}", *MESH, **BOUND)[0] for name in ("mesh_plain", "mesh"))
        meshes.append((plain_mesh, bound_mesh))
        # the program's own time is as long as that of few events
        counted.append(_cpu(work, "./budget", "nested", str(TURNS), VT_BUDGET="2M")[0] / EVENTS * 1e9)
    return [
        against_floor("5-ns function that VT_BUDGET=20M,5% leaves out, sampled counts, later half, CPU", storms, MOST),
        at_most("count of such a call, VT_BUDGET_COUNTS=exact, CPU", "ns", counts, 2),
        against_floor("mesh, g++ -O0: VT_BUDGET=20M,5%, all of the run, CPU", meshes, MOST, unit="s"),
        at_most("event of calls that are only counted, VT_BUDGET=2M, with the program, CPU", "ns", counted, 30),
    ]
