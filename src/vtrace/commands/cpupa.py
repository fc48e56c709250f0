# SPDX-License-Identifier: BSD-3-Clause
"""vtrace compat cpupa: the precision PA sheets of the Advanced Profiler."""

from __future__ import annotations

import os
from pathlib import Path

import click

from vtrace.commands import tool_options as tools
from vtrace.console import CLICK_SETTINGS, vtrace_console

_FILES = tuple(f"output_prof_{number}.csv" for number in range(1, 12))


@click.command(context_settings=CLICK_SETTINGS)
@click.option(
    "-p", "process", metavar="N", type=click.IntRange(0, tools.MOST), default=0, show_default=True,
    help="Process to show.",
)  # fmt: skip
@click.option("-s", "section", metavar="NAME", help="Section to show [default: the longest].")
@tools.output_option
@tools.kind_option
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
    from vtrace.compat import fapp_precision

    runs = []
    for path in files or map(Path, _FILES):
        run, section = fapp_precision.read_run(path, process, section)
        runs.append(run)
    for line in fapp_precision.warnings(runs):
        vtrace_console().warn(line)
    events = tools.derived_events(os.environ, ())
    tools.write_sheets(output, fapp_precision.make(runs, process, section or "", events), kind)
