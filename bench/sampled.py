# SPDX-License-Identifier: BSD-3-Clause
"""100 samples per second of real programs: CPU time of all processes against the same recording without samples, beside
`perf record -g` and py-spy where they are installed, and the share of complete stacks."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from measure import ENVIRONMENT, HERE, Row, against_floor, build

RATE = 100
RUNS = 4
"""Runs of each way, in turn; other processes disturb the best one least."""
HEAT = HERE.parent / "examples" / "heat2d"
MELT = """
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 16 0 16 0 16
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
run 500
"""
PYTHON = """
def collatz(n):
    steps = 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps

def longest(limit):
    return max(range(1, limit), key=collatz)

print(longest(250000))
"""
_OUTERMOST = ("main", "_start", "__clone3", "clone", "start_thread", "__libc_start_main", "ret_from_fork")
"""A stack of perf is complete if it ends in one of these."""


def prepare(work: Path) -> None:
    """Builds heat2d without vtrace, and writes the input of the other programs."""
    build("mpicc", "-O2", "-g", *sorted(HEAT.glob("*.c")), "-o", "heat2d", "-lm", cwd=work)
    (work / "melt.in").write_text(MELT)
    (work / "longest.py").write_text(PYTHON)


def programs() -> dict[str, tuple[str, ...]]:
    """The commands of the programs that are installed."""
    mpiexec = shutil.which("mpiexec", path=ENVIRONMENT["PATH"]) or "mpiexec"  # perf puts /usr/bin first in PATH
    found = {"heat2d": (mpiexec, "-n", "2", "./heat2d", "600", "2400")}
    if lmp := shutil.which("lmp"):
        launcher = shutil.which("mpiexec.openmpi") or "mpiexec"
        found["LAMMPS"] = (launcher, "--oversubscribe", "-n", "2", lmp, "-in", "melt.in", "-log", "none")
    return found | {"Python": (sys.executable, "longest.py")}


def _cpu(words: tuple[str, ...], work: Path) -> float:
    """CPU seconds of a command and its children."""
    env = ENVIRONMENT | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, cwd=work, env=env, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{words}: {done.returncode}\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _ways(name: str, words: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    ways = {"": ("vtrace", "run", *words), "100 samples per second": ("vtrace", "run", f"--sample={RATE}", *words)}
    if perf := shutil.which("perf"):
        plain = ("record", "-q", "-F", str(RATE), "-e", "cpu-clock", "-o", "perf.data")
        ways |= {"untraced": words, "perf record -g": (perf, *plain, "-g", *words)}
    if name == "Python" and (spy := shutil.which("py-spy")):
        ways |= {
            "untraced": words,
            "py-spy": (spy, "record", "-r", str(RATE), "-f", "raw", "-o", "spy.txt", "--", *words),
        }
    return ways


def _complete(work: Path) -> float:
    """The share of complete stacks in the local files of the last run with samples."""
    prefix = next(iter(sorted(work.glob("*.uctl")))).stem
    done = subprocess.run(
        ["vtrace", "dump", prefix, "--only", "SAMPLE", "--json"],
        cwd=work,
        env=ENVIRONMENT,
        check=True,
        capture_output=True,
        text=True,
    )
    ends = [json.loads(line)["end"] for line in done.stdout.splitlines()]
    return ends.count("COMPLETE") / len(ends)


def _complete_of_perf(work: Path) -> float:
    words = ["perf", "script", "-i", "perf.data", "-F", "ip,sym"]
    done = subprocess.run(words, cwd=work, check=True, capture_output=True, text=True)
    stacks = [stack.split("\n") for stack in done.stdout.strip().split("\n\n")]
    return sum(stack[-1].split()[-1] in _OUTERMOST for stack in stacks) / len(stacks)


def _share(what: str, value: float, bar: str = "") -> Row:
    return Row(f"{what}: complete stacks", "", None, value, None, bar, not bar or value >= float(bar.split()[-1]))


def _program(name: str, words: tuple[str, ...], work: Path, repetitions: int) -> list[Row]:
    ways, shares = _ways(name, words), dict[str, Row]()
    after: dict[str, Callable[[Path], float]] = {
        "100 samples per second": _complete,
        "perf record -g": _complete_of_perf,
    }
    rows: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(repetitions):
        best = dict.fromkeys(ways, float("inf"))
        for _ in range(RUNS):
            for way, command in ways.items():
                for path in [*work.glob("*.z"), *work.glob("*.uctl")]:
                    path.unlink()
                best[way] = min(best[way], _cpu(command, work))
                if way in after and way not in shares:
                    shares[way] = _share(f"{name}, {way}", after[way](work), ">= 0.95" if way[0] == "1" else "")
        for way, seconds in best.items():
            rows[way].append(seconds)
    found = []
    for way in ways:
        if way not in ("", "untraced"):
            ours = way[0] == "1"
            pairs = [*zip(rows["" if ours else "untraced"], rows[way], strict=True)]
            row = against_floor(f"{name}, {way}, CPU", pairs, 1.01, "s")
            found.append(row if ours else replace(row, bar="", held=True))
            found += [shares[way]] if way in shares else []
    return found


def measure(work: Path, repetitions: int) -> list[Row]:
    """CPU times in turn, and the shares of complete stacks."""
    os.sync()
    return [row for name, words in programs().items() for row in _program(name, words, work, repetitions)]
