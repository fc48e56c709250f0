#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks whether the last commit can be released. Prints a line for each step, and keeps the output of all steps.

tools/release_check.py                            all steps, in a new clone: an hour and more
tools/release_check.py --only changelog --only docs
tools/release_check.py --python ~/py312/bin/python --only wheels
tools/release_check.py --only tests --tests "tests/unit -k kernel"
tools/release_check.py --only figures --bench "-n 1 --only unify"

A row of `make bench` that misses its bar fails the step figures, unless docs/performance.md says why, in a line
"- `the row's name`: the reason" below the heading "## Missed bars".

Exit code: 0 if all steps passed, else 1.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14")


class FailedStepError(Exception):
    """A step failed. The message gives the reason."""


@dataclass
class Check:
    """A clone of the last commit. log: of the current step; pythons: commands; tests, bench: arguments of pytest and of
    bench/run.py, empty for all."""

    clone: Path
    scratch: Path
    pythons: list[str]
    tests: str
    bench: str
    log: Path = Path(os.devnull)

    def run(self, *words: str | Path, cwd: Path | None = None) -> str:
        """Runs a command, with its output in the log. Returns its standard output. Raises FailedStepError."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("VT_")}
        with self.log.open("a") as log:
            print("$", *words, file=log, flush=True)
            done = subprocess.run(
                [str(word) for word in words],
                cwd=cwd or self.clone,
                env=env,
                text=True,
                stdout=subprocess.PIPE,
                stderr=log,
            )
            log.write(done.stdout)
        if done.returncode:
            raise FailedStepError(f"{' '.join(map(str, words))}: exit code {done.returncode}")
        return done.stdout


def version(check: Check) -> str:
    """The version of the clone."""
    text = (check.clone / "src" / "vtrace" / "__init__.py").read_text()
    found = re.search(r'__version__ = "([^"]+)"', text)
    if not found:
        raise FailedStepError("src/vtrace/__init__.py has no __version__")
    return found[1]


def changelog(check: Check) -> str:
    """The first section of the changelog is that of the version, with a date."""
    heads = re.findall(r"^## (.*)$", (check.clone / "CHANGELOG.md").read_text(), re.MULTILINE)
    want = version(check)
    if not heads or not re.fullmatch(rf"{re.escape(want)} \(\d{{4}}-\d\d-\d\d\)", heads[0]):
        raise FailedStepError(f"CHANGELOG.md begins with {heads[0] if heads else 'no section'}, not {want} (a date)")
    cited = (check.clone / "CITATION.cff").read_text()
    if f"version: {want}" not in cited:
        raise FailedStepError(f"CITATION.cff has another version than {want}")
    return want


def lint(check: Check) -> str:
    """make lint"""
    check.run("make", "lint")
    return ""


def docs(check: Check) -> str:
    """make docs"""
    check.run("make", "docs")
    return "build/site"


def tests(check: Check) -> str:
    """make test, and a report of the coverage of the unit tests"""
    check.run("make", "test", f"TESTS={check.tests}")
    python, report = check.clone / ".venv" / "bin" / "python", check.scratch / "coverage"
    check.run(python, "-m", "coverage", "run", "--source=vtrace", "-m", "pytest", "-q", "tests/unit")
    check.run(python, "-m", "coverage", "html", "-q", "--directory", report)
    total = check.run(python, "-m", "coverage", "report", "--format=total").strip()
    some = f"only {check.tests}; " if check.tests else ""
    return f"{some}coverage of tests/unit alone: {total} %, {report}/index.html"


def wheels(check: Check) -> str:
    """make wheels; both wheels installed with each Python, and vtrace demo there"""
    check.run("make", "wheels")
    dist = check.clone / "dist"
    (wheel,), otf2 = dist.glob("vtrace_otf2-*.whl"), list(dist.glob("otf2-*.whl"))
    used = []
    for python in check.pythons:
        place = check.scratch / f"python{len(used)}"  # several may have one name in different directories
        check.run(python, "-m", "venv", place)
        check.run(place / "bin" / "python", "-m", "pip", "install", "-q", f"{wheel}[mpich]", *otf2)
        check.run(place / "bin" / "vtrace", "demo", place / "demo")
        used.append(check.run(place / "bin" / "python", "--version").split()[-1])
    if not used:
        raise FailedStepError("no Python to install the wheel with: --python COMMAND")
    lacks = [name for name in PYTHONS if not any(one.startswith(f"{name.removeprefix('python')}.") for one in used)]
    return f"{wheel.name} with Python {', '.join(used)}" + (f"; not tried: {', '.join(lacks)}" if lacks else "")


def figures(check: Check) -> str:
    """make bench: no row misses its bar, but for those with a reason in docs/performance.md"""
    file = check.scratch / "figures.json"
    check.run("make", "bench", f"BENCH=--json {file} {check.bench}")
    rows = json.loads(file.read_text())
    missed = [row for row in rows if not row["held"]]
    reasons = missed_bars(check)
    texts = [f"{row['what']}: {row['measured']:.3g} {row['unit']}, not {row['bar']}" for row in missed]
    if new := [text for row, text in zip(missed, texts, strict=True) if row["what"] not in reasons]:
        raise FailedStepError(f"{len(new)} of {len(rows)} rows miss their bar without a reason: {'; '.join(new)}")
    if not check.bench and (gone := reasons.keys() - {row["what"] for row in rows}):
        raise FailedStepError(
            f"docs/performance.md has reasons for rows that make bench lacks: {', '.join(sorted(gone))}"
        )
    some = f"only {check.bench}; " if check.bench else ""
    if not missed:
        return f"{some}all {len(rows)} rows keep their bar"
    return "; ".join([f"{some}{len(missed)} of {len(rows)} rows miss their bar, all with a reason", *texts])


def missed_bars(check: Check) -> dict[str, str]:
    """Rows of make bench that may miss their bar -> why."""
    text = (check.clone / "docs" / "performance.md").read_text()
    _, _, lines = text.partition("\n## Missed bars\n")
    lines, _, _ = lines.partition("\n## ")
    return dict(re.findall(r"^- `([^`]+)`: (\S.*)$", lines, re.MULTILINE))


STEPS: dict[str, Callable[[Check], str]] = {
    "changelog": changelog, "lint": lint, "docs": docs, "wheels": wheels, "tests": tests, "figures": figures,
}  # fmt: skip


def works(python: str) -> bool:
    """True for a Python that makes virtual environments: a name may refer to a version that is not installed."""
    path = shutil.which(python)
    return bool(path) and subprocess.run([str(path), "-c", "import venv"], capture_output=True).returncode == 0


def main() -> int:
    """Runs the steps. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=STEPS, action="append", help="only this step; may be repeated")
    parser.add_argument("--python", action="append", help=f"for wheels [default: those of {', '.join(PYTHONS)} found]")
    parser.add_argument("--tests", default="", help="arguments of pytest: the step tests runs these tests only")
    parser.add_argument("--bench", default="", help="arguments of bench/run.py: the step figures measures with these")
    args = parser.parse_args()
    pythons = args.python or [name for name in PYTHONS if works(name)]
    scratch = Path(tempfile.mkdtemp(prefix="vtrace-release-"))
    check = Check(scratch / "vtrace", scratch, pythons, args.tests, args.bench)
    subprocess.run(["git", "clone", "-q", str(ROOT), str(check.clone)], check=True)
    failed = 0
    for name in args.only or STEPS:
        check.log, begin = scratch / f"{name}.log", time.monotonic()
        try:
            verdict, text = "ok", STEPS[name](check)
        except FailedStepError as error:
            verdict, text, failed = "FAILED", f"{error}; see {check.log}", 1
        print(f"{name:10} {verdict:7} {time.monotonic() - begin:6.0f} s  {text}", flush=True)
    print(f"the clone and all output are in {scratch}", file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main())
