# SPDX-License-Identifier: BSD-3-Clause
"""vtrace compat cpupa: the precision PA sheets of the Advanced Profiler."""

from __future__ import annotations

import os
from pathlib import Path

import click

from vtrace.commands.tool_options import MOST, console_of, derived_events, printable, write
from vtrace.console import CLICK_SETTINGS

_FILES = tuple(f"output_prof_{number}.csv" for number in range(1, 12))


@click.command(context_settings=CLICK_SETTINGS)
@click.option(
    "-p", "process", metavar="N", type=click.IntRange(0, MOST), default=0, show_default=True, help="Process to show."
)
@click.option("-s", "section", metavar="NAME", help="Section to show [default: the longest].")
@click.option("-o", "output", metavar="FILE", default="stdout", help="Write to FILE [default: stdout].")
@click.option("-t", "kind", type=click.Choice(["text", "csv"]), default="text", show_default=True, help="Format.")
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(path_type=Path))
def cpupa(process: int, section: str | None, output: str, kind: str, *, files: tuple[Path, ...]) -> None:
    """Merge the counters of several runs, each a file of fapppx -A -Hpa -tcsv, to the precision PA sheets: by default
    output_prof_1.csv to output_prof_11.csv. A warning names each run that took 5 % more or less time than the first
    run, and each section of 150 us or less.

    \b
    Examples:
      vtrace compat cpupa
      vtrace compat cpupa -p 1 -s solve output_prof_*.csv
    """
    from vtrace import __version__
    from vtrace.compat import fapp_layout, fapp_precision

    runs = []
    for path in files or map(Path, _FILES):
        run, section = fapp_precision.read_run(path, process, section)
        runs.append(run)
    for line in fapp_precision.warnings(runs):
        console_of().warn(line)
    report = fapp_precision.make(runs, process, section or "", derived_events(os.environ, ()))
    lines = map(printable, fapp_layout.text(report, __version__))
    write(output, fapp_layout.csv_text(report, __version__) if kind == "csv" else "\n".join(lines) + "\n")
