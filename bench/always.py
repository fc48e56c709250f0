# SPDX-License-Identifier: BSD-3-Clause
"""Ten real programs of some seconds by vtrace run --always against the same alone: CPU time of all their processes,
without the constant cost of the start. MPI programs have one rank, since waiting ranks use CPU time."""

from __future__ import annotations

import resource
import shutil
import statistics
import subprocess
import time
from pathlib import Path

from measure import BIN, ENVIRONMENT, Row, against_floor, at_most, build

from vtrace.commands.job_file import ENDING
from vtrace.wrappers.launch.always import RUNNING

MOST = 1.01
STARTS = 9
ALWAYS, NOTHING = [str(BIN / "vtrace"), "run", "--always"], ["true"]
HEAT = Path(__file__).resolve().parents[1] / "examples/heat2d"
LATTICE = "\n".join(
    [
        "units lj", "atom_style atomic", "lattice fcc 0.8442", "region box block 0 16 0 16 0 16", "create_box 1 box",
        "create_atoms 1 box", "mass 1 1.0", "velocity all create 3.0 87287 loop geom", "pair_style lj/cut 2.5",
        "pair_coeff 1 1 1.0 1.0 2.5", "neighbor 0.3 bin", "fix 1 all nve", "thermo 100", "run 800",
    ]
)  # fmt: skip
PYTHON = "print(sum(len(str(i * i)) for i in range(70_000_000)))"
SOURCE = '#include <iostream>\n#include <regex>\nint main() { return std::regex_match("aab", std::regex("a*b")); }\n'
ROWS = """create table t(a, b, c); create index i on t(b);
with recursive n(x) as (select 1 union all select x + 1 from n where x < 3000000)
insert into t select x, x * 7919 % 100003, 'text ' || x from n;
select count(*), sum(b) from t where b between 100 and 90000; select c from t order by c desc limit 5;"""
COMMITS = """
git init -q -b main repository && cd repository && git config user.name a && git config user.email a@b
for i in $(seq 300); do seq $i $((i * 7 + 20000)) > f$((i % 20)); git add . && git commit -qm $i; done
"""
PROGRAMS = {
    "python": ["python3", "-c", PYTHON],
    "three g++ -O2 of a shell": ["sh", "-c", "for i in 1 2 3; do g++ -O2 -c regex.cc -o $i.o; done"],
    "sort of 160 MB": ["sort", "-o", "sorted", "numbers"],
    "gzip of 160 MB": ["sh", "-c", "gzip -c numbers | tail -c 1"],
    "tar and xz of 8 MB": ["tar", "-cJf", "small.tar.xz", "small"],
    "zstd of 160 MB by two threads": ["zstd", "-q", "-f", "-9", "-T2", "numbers", "-o", "numbers.zst"],
    "three git hash-object -w of 160 MB of a shell": [
        "sh", "-c", "for i in 1 2 3; do rm -rf r; cp -r repository r; git -C r hash-object -w ../numbers; done"
    ],
    "sqlite3 of 3 000 000 rows": ["sqlite3", ":memory:", ROWS],
    "heat2d, 1 rank": ["mpiexec", "-n", "1", "./heat2d", "2000", "600"],
    "LAMMPS, 1 rank": ["mpirun.openmpi", "--allow-run-as-root", "-n", "1", "lmp", "-in", "in.lattice"],
}  # fmt: skip
SHORT = {
    "heat2d, 1 rank": ["mpiexec", "-n", "1", "./heat2d", "10", "1"],
    "LAMMPS, 1 rank": ["mpirun.openmpi", "--allow-run-as-root", "-n", "1", "lmp", "-in", "in.short"],
}  # fmt: skip
"""The programs whose start differs, with little to do."""


def prepare(work: Path) -> None:
    """Writes the inputs, and builds the MPI program without vtrace."""
    (work / "regex.cc").write_text(SOURCE)
    (work / "in.lattice").write_text(LATTICE)
    (work / "in.short").write_text(LATTICE.replace("run 800", "run 0"))
    with (work / "numbers").open("w") as numbers, (work / "small").open("w") as small:
        for i in range(16_000_000):
            print(i * 7919 % 1_000_000_007, file=numbers)
            if i % 20 == 0:
                print(i * 7919 % 1_000_000_007, file=small)
    subprocess.run(["bash", "-c", COMMITS], cwd=work, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
    build("mpicc", "-O2", HEAT / "heat.c", HEAT / "halo.c", "-lm", "-o", "heat2d", cwd=work)
    for launcher in ("mpicc", "mpicc.openmpi"):
        if shutil.which(launcher):
            words = [BIN / "vtrace", "shim", "build", launcher]
            subprocess.run(words, cwd=work, env=ENVIRONMENT, stdout=subprocess.DEVNULL)


def _cpu(words: list[str], work: Path) -> float:
    """CPU seconds of a program and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    env = ENVIRONMENT | {"VT_ALWAYS_DIR": str(work / "jobs")}
    subprocess.run(words, cwd=work, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _wait_for_files(jobs: Path) -> None:
    while any(path.suffix in (RUNNING, ENDING) for path in jobs.iterdir()):
        time.sleep(0.1)


def _start(words: list[str], work: Path) -> float:
    """The median of the CPU seconds that vtrace adds to a program that ends at once."""
    added = [_cpu([*ALWAYS, *words], work) - _cpu(words, work) for _ in range(STARTS)]
    _wait_for_files(work / "jobs")
    return statistics.median(added)


def measure(work: Path, repetitions: int) -> list[Row]:
    """The best CPU times of the repetitions, since other programs only add to them."""
    starts = [1e3 * _start(NOTHING, work)]
    rows = [at_most("start of a program by vtrace run --always, added CPU", "ms", starts, 50)]
    for what, words in PROGRAMS.items():
        if not shutil.which(words[0]):
            continue
        start, pairs = _start(SHORT.get(what, NOTHING), work), []
        for _ in range(repetitions):
            alone, recorded = _cpu(words, work), _cpu([*ALWAYS, *words], work) - start
            _wait_for_files(work / "jobs")
            pairs.append((alone, recorded))
        best = min(alone for alone, _ in pairs), min(recorded for _, recorded in pairs)
        rows.append(against_floor(f"{what}, vtrace run --always, CPU without start", [best], MOST, "s"))
    return rows
