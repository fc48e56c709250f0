# SPDX-License-Identifier: BSD-3-Clause
"""Understand: Print calls, times and counts of user-defined regions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from vtrace.commands.profile import print_timers
from vtrace.commands.trace_command import Output, trace_command
from vtrace.reports.table_names import TIMER_METRICS

if TYPE_CHECKING:
    from vtrace.analysis.selection import Selection
    from vtrace.analysis.trace import Trace


@trace_command()
@click.option("--all", "every", is_flag=True, help="The same as --select 'region=*' of vtrace profile.")
@click.option(
    "--format", "layout", type=click.Choice(("vtrace", *TIMER_METRICS)), default="vtrace", show_default=True,
    help="perf.hh: the same as --metrics perf.hh of vtrace profile.",
)  # fmt: skip
def command(trace: Trace, part: Selection, output: Output, every: bool, *, layout: str) -> None:
    """The same as vtrace profile --by timer --json. Each region (VT_USER_START, VT_TRACER, vtrace.user.region) on each
    thread is a timer. A timer has calls, min, max, mean and standard deviation, and the bytes and flops of counters
    with these units during the region. ARCHIVE is a prefix, the directory of an OTF2 archive or its .otf2 file, written
    by any tool.

    \b
    Examples:
      vtrace timers heat
      vtrace timers heat | jq '.timers[] | select(.label == "solve") | .mean_ns'
      vtrace timers heat --all --ranks 0
      vtrace timers heat --format perf.hh
    """
    from vtrace.analysis.selection import Patterns

    patterns = Patterns.of_options(["region=*"] if every else [])
    metrics = layout if layout in TIMER_METRICS else None
    print_timers(trace, part, replace(output, as_json=True, patterns=patterns), metrics)
