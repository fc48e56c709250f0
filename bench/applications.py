# SPDX-License-Identifier: BSD-3-Clause
"""Real programs with I/O and memory recorded, against the same untraced: CPU time of all processes."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from pathlib import Path

from measure import ENVIRONMENT, Row, against_floor

from vtrace.paths import LIB

IO, MEMORY = {"VT_IOTRACE": "yes"}, {"VT_MEMTRACE": "yes"}
SHIMS = {"VT_IOTRACE": "libvtrace-io.so", "VT_MEMTRACE": "libvtrace-mem.so"}
ROWS = """create table t(a, b, c); create index i on t(b);
with recursive n(x) as (select 1 union all select x + 1 from n where x < 200000)
insert into t select x, x * 7919 % 100003, 'text ' || x from n;
select count(*), sum(b) from t where b between 100 and 90000; select c from t order by c desc limit 5;"""
PROGRAMS = {
    "g++ -O2 of a file with <regex>": (IO | MEMORY, ["g++", "-O2", "-c", "regex.cc", "-o", "regex.o"]),
    "git gc of 300 commits": (IO | MEMORY, ["git", "-C", "repository", "gc", "-q", "--aggressive", "--prune=now"]),
    "find of all files below /usr/lib": (IO, ["find", "/usr/lib"]),
    "sqlite3 of 200 000 rows": (MEMORY, ["sqlite3", ":memory:", ROWS]),
}
"""The settings and the command of each row."""
COMMITS = """
git init -q -b main repository && cd repository && git config user.name a && git config user.email a@b
for i in $(seq 300); do seq $i $((i * 7 + 20000)) > f$((i % 20)); git add . && git commit -qm $i; done
"""


def prepare(work: Path) -> None:
    """Writes the source file and the repository script."""
    text = '#include <iostream>\n#include <regex>\nint main() { return std::regex_match("aab", std::regex("a*b")); }\n'
    (work / "regex.cc").write_text(text)
    subprocess.run(["bash", "-c", COMMITS], cwd=work, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)


def _cpu(words: list[str], work: Path, settings: dict[str, str]) -> float:
    """Runs the program in a copy of the directory. Returns the CPU seconds of the program and its children."""
    place, local = work / "programs", work / "local"
    for path in (place, local):
        shutil.rmtree(path, ignore_errors=True)
    local.mkdir()
    shutil.copytree(work / "repository", place / "repository")
    shutil.copy(work / "regex.cc", place)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    env = ENVIRONMENT | settings | {"VT_PFORM_GDIR": str(local), "VT_PFORM_LDIR": str(local)}
    program = shutil.which(words[0]) or words[0]
    subprocess.run([program, *words[1:]], cwd=place, env=env, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(work: Path, repetitions: int) -> list[Row]:
    """CPU times of the programs with shims, in pairs with the times without."""
    os.sync()
    rows = []
    for what, (settings, words) in PROGRAMS.items():
        shims = ":".join(str(LIB / name) for name in ("libvtrace.so.1", *(SHIMS[setting] for setting in settings)))
        traced = settings | {"LD_PRELOAD": shims, "VT_MAX_FLUSHES": "0"}
        pairs = [(_cpu(words, work, {}), _cpu(words, work, traced)) for _ in range(repetitions)]
        kinds = " and ".join({"VT_IOTRACE": "I/O", "VT_MEMTRACE": "memory"}[setting] for setting in settings)
        rows.append(against_floor(f"{what}, {kinds} recorded", pairs, 1.5, "s"))
    return rows
