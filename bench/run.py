# SPDX-License-Identifier: BSD-3-Clause
"""Measures vtrace against floors of the same run, and prints one table. Called by `make bench`.

Each repetition measures floor and vtrace one after the other. The figures are medians over the repetitions. The ratios
are medians of the ratios within one repetition, since the speed of a shared machine changes over time.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from dataclasses import asdict
from pathlib import Path

import always
import annotated
import applications
import clocks
import compiled
import counters
import flush
import functions
import hdf5
import importing
import iocalls
import memory
import mpi
import mpi_waits
import openmp
import overhead
import packed
import processes
import processor_waits
import reading
import sampled
import sampling
import start
import threads
import unified_samples
import unify
import user
import viewing
import windows
from measure import Row

from vtrace.reports import sheet
from vtrace.reports.sheet import Column, Sheet

MODULES = (
    functions,
    compiled,
    counters,
    flush,
    user,
    annotated,
    mpi,
    clocks,
    iocalls,
    hdf5,
    memory,
    applications,
    always,
    openmp,
    overhead,
    threads,
    processes,
    processor_waits,
    start,
    unify,
    reading,
    importing,
    sampling,
    sampled,
    unified_samples,
    viewing,
    windows,
    packed,
    mpi_waits,
)


def show(rows: list[Row]) -> None:
    """Prints the table to standard output."""
    columns = [Column(name, name, "text") for name in ("what", "unit")]
    columns += [Column(name, name, "ratio") for name in ("floor", "measured", "ratio")]
    columns += [Column("bar", "to hold", "text"), Column("verdict", " ", "text")]
    cells = [asdict(row) | {"verdict": "" if row.held else "missed"} for row in rows]
    sheet.show(
        [Sheet(name="benchmarks", title=f"vtrace benchmarks ({os.cpu_count()} cores)", columns=columns, rows=cells)]
    )


def main() -> None:
    """Builds, measures, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--repetitions", type=int, default=7)
    parser.add_argument("--only", choices=[module.__name__ for module in MODULES], help="one group of rows")
    parser.add_argument("--large", action="store_true", help="also memory with up to 1000 M events: 12 GB of disk")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    args = parser.parse_args()
    rows: list[Row] = []
    groups: list[str] = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "."), prefix="bench-") as name:
        work = Path(name).resolve()
        functions.prepare(work)  # unify.py uses its traced program, too
        for module in MODULES:
            if args.only not in (None, module.__name__):
                continue
            if module is not functions:
                module.prepare(work)
            found = module.measure(work, args.repetitions if module is not unify else max(1, args.repetitions // 2))
            groups += [module.__name__] * len(found)
            rows += found
        if args.large:
            rows += unify.measure_memory(work)
            rows += unify.measure_scaling(work)
            reading.prepare(work)
            rows += reading.measure_memory(work)
            rows += mpi_waits.measure_memory(work)
            rows += windows.measure_large(work)
    show(rows)
    if args.json:
        groups += ["--large"] * (len(rows) - len(groups))
        found = [{"group": group} | asdict(row) for group, row in zip(groups, rows, strict=True)]
        args.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
