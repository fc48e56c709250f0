# SPDX-License-Identifier: BSD-3-Clause
"""Real programs with the I/O and memory shims preloaded, against the same without shims: CPU time of all processes."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from pathlib import Path

from measure import ENVIRONMENT, Row, against_floor

from vtrace.paths import LIB

SHIMS = ":".join(str(LIB / name) for name in ("libvtrace.so.1", "libvtrace-io.so", "libvtrace-mem.so"))
BOTH = {"LD_PRELOAD": SHIMS, "VT_IOTRACE": "yes", "VT_MEMTRACE": "yes", "VT_MAX_FLUSHES": "0"}
PROGRAMS = {
    "g++ -O2 of a file with <regex>": ["g++", "-O2", "-c", "regex.cc", "-o", "regex.o"],
    "git gc of 300 commits": ["git", "-C", "repository", "gc", "-q", "--aggressive", "--prune=now"],
}
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
    subprocess.run([shutil.which(words[0]) or words[0], *words[1:]], cwd=place, env=env, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(work: Path, repetitions: int) -> list[Row]:
    """CPU times of the programs with both shims, in pairs with the times without."""
    os.sync()
    rows = []
    for what, words in PROGRAMS.items():
        pairs = [(_cpu(words, work, {}), _cpu(words, work, BOTH)) for _ in range(repetitions)]
        rows.append(against_floor(f"{what}, I/O and memory recorded", pairs, 1.5, "s"))
    return rows
