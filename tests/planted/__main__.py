# SPDX-License-Identifier: BSD-3-Clause
"""Prints how many causes vtrace diagnose tells rightly: python -m planted [PATTERN] from tests/, or make planted."""

from __future__ import annotations

import argparse
import fnmatch
import sys
import tempfile
from pathlib import Path

from planted.judge import Verdict, judged, record
from planted.plants import PLANTS, Plant
from support.build.builder import Builder


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pattern", nargs="?", default="*", help='of names with their modes, such as "late_sender 2 cc"')
    pattern = parser.parse_args().pattern
    cases = [
        (plant, mode) for plant in PLANTS for mode in plant.modes if fnmatch.fnmatch(f"{plant.name} {mode}", pattern)
    ]
    verdicts = []
    with tempfile.TemporaryDirectory(prefix="planted") as name:
        (Path(name) / "build").mkdir()
        build = Builder(Path(name) / "build")
        for number, (plant, mode) in enumerate(cases):
            verdict = judged(record(build, plant, mode, Path(name) / str(number)), plant, mode)
            verdicts.append(verdict)
            print(row(plant, mode, verdict), flush=True)
    print("\n".join(sums(cases, verdicts)))
    return 0 if all(verdict.first for verdict in verdicts) else 1


def row(plant: Plant, mode: str, verdict: Verdict) -> str:
    error = "" if verdict.error is None else f"{verdict.error:+.0%}"
    first, found = ("yes" if good else "NO" for good in (verdict.first, verdict.found))
    return f"{plant.name:<30}  {mode:<8}  {first:<3}  {found:<3}  {error:>6}  {verdict.told}"


def sums(cases: list[tuple[Plant, str]], verdicts: list[Verdict]) -> list[str]:
    """The lines below the table."""
    of = max(1, len(verdicts))
    planted = [verdict for (plant, _), verdict in zip(cases, verdicts, strict=True) if plant.cause]
    healthy = [verdict for (plant, _), verdict in zip(cases, verdicts, strict=True) if not plant.cause]
    errors = sorted(abs(verdict.error) for verdict in planted if verdict.error is not None)
    return [
        f"{len(verdicts)} cases: the first finding is right in {sum(v.first for v in verdicts) / of:.0%}",
        f"planted causes found: {sum(v.found for v in planted)} of {len(planted)}",
        f"healthy programs with false causes: {sum(bool(v.false) for v in healthy)} of {len(healthy)}",
        f"error of the loss: median {errors[len(errors) // 2]:.0%}, largest {errors[-1]:.0%}" if errors else "",
    ]


if __name__ == "__main__":
    sys.exit(main())
