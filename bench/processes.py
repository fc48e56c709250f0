# SPDX-License-Identifier: BSD-3-Clause
"""Cost of a forked child that records, for its parent and for vtunify, against children that are not traced."""

from __future__ import annotations

import resource
import shutil
import subprocess
from pathlib import Path

from measure import BIN, ENVIRONMENT, HERE, Row, at_most, build, run

CHILDREN = 1000


def prepare(work: Path) -> None:
    """Builds the program untraced and traced."""
    build("gcc", "-O2", HERE / "forks.c", "-o", "forks_plain", cwd=work)
    build("vtrace-cc", "-O2", HERE / "forks.c", "-o", "forks_traced", cwd=work)


def unify(work: Path) -> float:
    """CPU seconds of vtunify."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(BIN / "vtunify"), "--force", "forks_traced"], cwd=work, env=ENVIRONMENT, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(work: Path, repetitions: int) -> list[Row]:
    """A fork with the wait for its child, and the time of vtunify for many processes less its time for two."""
    added, small, many = [], [], []
    for _ in range(repetitions):
        (plain,) = run("./forks_plain", CHILDREN, cwd=work)
        (traced,) = run("./forks_traced", CHILDREN, cwd=work)
        added.append((traced - plain) / 1e3)
        all_of_them = unify(work)
        shutil.rmtree(work / "forks_traced.trace")  # else the next run would include the removal
        run("./forks_traced", 1, cwd=work)
        small.append(unify(work))
        many.append((all_of_them - small[-1]) / (CHILDREN - 1) * 1e3)
    return [
        at_most("what tracing adds to a fork of a child that records", "ms", added, 1.5),
        at_most("vtunify of a further process, CPU", "ms", many, 1),
        at_most("vtunify of a run of two processes and eight events, CPU", "s", small, 0.2),
    ]
