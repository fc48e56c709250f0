# SPDX-License-Identifier: BSD-3-Clause
"""OpenMP of gcc and clang: a parallel region traced and untraced; a barrier and a critical region against two clock
reads, and against two records."""

from __future__ import annotations

from pathlib import Path

from measure import BIN, HERE, Row, against_floor, build, run

from vtrace.paths import LIB

COMPILERS = ("gcc", "clang")
COUNT = 500
SETTINGS = {"VT_BUFFER_SIZE": "1G", "VT_THREAD_BUFFER_SIZE": "1G", "OMP_DYNAMIC": "false"}


def prepare(work: Path) -> None:
    """Builds the program with and without vtrace, and an OMPT tool that does nothing."""
    build("gcc", "-O2", "-shared", "-fPIC", HERE / "empty_tool.c", "-o", "empty_tool.so", cwd=work)
    for compiler in COMPILERS:
        source = HERE / "openmp.c"
        build(compiler, "-O2", "-fopenmp", f"-I{LIB / 'user'}", source, "-o", f"openmp-{compiler}", cwd=work)
        wrapper = (BIN / "vtrace-cc", "-vt:cc", compiler, "-vt:mt", "-vt:inst", "manual", "-DVTRACE")
        build(*wrapper, "-O2", "-fopenmp", source, "-o", f"openmp-{compiler}-traced", cwd=work)


def measure(work: Path, repetitions: int) -> list[Row]:
    """For the region the ratio of both programs. For barrier and critical region the difference between both programs,
    also against the cost of libomp with an OMPT tool that does nothing."""
    rows = []
    for compiler in COMPILERS:
        found = []
        for _ in range(repetitions):
            plain = run(f"./openmp-{compiler}", COUNT, cwd=work)
            found.append((plain, run(f"./openmp-{compiler}-traced", COUNT, cwd=work, **SETTINGS)))
        regions = [(plain[0], traced[0]) for plain, traced in found]
        rows.append(against_floor(f"parallel region of 2 threads, {compiler}", regions, 1.3))
        for at, name in ((1, "barrier"), (2, "critical")):
            pairs = [(plain[3], traced[at] - plain[at]) for plain, traced in found]
            rows.append(against_floor(f"{name}, {compiler}, above 2 clock reads", pairs, 1.5))
            pairs = [(traced[4] - plain[4], traced[at] - plain[at]) for plain, traced in found]
            rows.append(against_floor(f"{name}, {compiler}, above 2 records with their clock reads", pairs, 1.0))
        if compiler == "gcc":
            continue
        empty = [run(f"./openmp-{compiler}", COUNT, cwd=work, LD_PRELOAD=str(work / "empty_tool.so")) for _ in found]
        regions = [(quiet[0], traced[0]) for (_, traced), quiet in zip(found, empty, strict=True)]
        rows.append(against_floor(f"parallel region, {compiler}, above a tool that does nothing", regions, 1.3))
        for at, name in ((1, "barrier"), (2, "critical")):
            pairs = [(p[3] + q[at] - p[at], t[at] - p[at]) for (p, t), q in zip(found, empty, strict=True)]
            rows.append(against_floor(f"{name}, {compiler}, above 2 clock reads and such a tool", pairs, 1.5))
            pairs = [(t[4] - p[4] + q[at] - p[at], t[at] - p[at]) for (p, t), q in zip(found, empty, strict=True)]
            rows.append(against_floor(f"{name}, {compiler}, above 2 records and such a tool", pairs, 1.0))
    return rows
