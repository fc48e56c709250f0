# SPDX-License-Identifier: BSD-3-Clause
"""Understand: List the runs that vtrace run --always has recorded."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click

from vtrace.console import CLICK_SETTINGS, Console, say, some, vtrace_console, wide_option
from vtrace.errors import UsageError, VtraceError
from vtrace.text import json_text, shell_word

_UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_AGO = re.compile(r"(\d{1,6})([mhdw])")


@click.command(context_settings=CLICK_SETTINGS)
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option("--program", metavar="PATTERN", help="Only programs whose name matches, such as 'heat*'.")
@click.option("--user", metavar="NAME", help="Only jobs of this user.")
@click.option("--since", metavar="TIME", help="Only jobs since then: 30m, 12h, 7d, 2w ago, or a date (2026-11-30).")
@click.option("--top", metavar="N", type=click.IntRange(1), default=50, show_default=True, help="Rows in the table.")
@click.option("--json", "as_json", is_flag=True, help="Print all rows as JSON; times in seconds.")
def command(
    directory: Path | None, program: str | None, user: str | None, since: str | None, *, top: int, as_json: bool
) -> None:
    """DIR is VT_ALWAYS_DIR by default. Each file can be given to vtrace summary, profile and diff.

    A row has the parallel efficiency, the shares of MPI and I/O in the time of all threads, and the change of the wall
    time, and of the function or call that changed most, against the last run of the same program on the same number of
    ranks.

    \b
    Examples:
      vtrace jobs
      vtrace jobs --program 'heat*' --since 7d
      vtrace jobs /var/spool/vtrace --user alice --json
      vtrace summary "$(vtrace jobs --program heat --json | jq -r .jobs[0].path)"
    """
    from vtrace.reports import jobs, sheet

    console = vtrace_console()
    where = directory or _default()
    first = _begin(since)
    rows = sorted(_rows(where, console), key=lambda row: row["start"] or 0)
    jobs.add_changes(rows)
    wanted = [
        row for row in rows
        if (program is None or fnmatchcase(row["program"], program)) and user in (None, row["user"])
        and (first is None or (row["start"] or 0) >= first)
    ]  # fmt: skip
    if as_json:
        click.echo(json_text({"directory": str(where), "jobs": wanted[::-1]}, indent=1))
        return
    if not wanted:
        click.echo("no jobs")
    else:
        sheet.show([jobs.sheet(wanted).cut(top, "--top shows more, all with --json")])
        say(f"next: vtrace summary {shell_word(where / wanted[-1]['file'])}   for the newest")
    _tell_running(where, console)


command.params.append(wide_option())


def _default() -> Path:
    from vtrace.wrappers.launch.always import jobs_directory

    found = jobs_directory(os.environ)
    if not found:
        raise UsageError("no directory", "name one, or set VT_ALWAYS_DIR")
    return Path(found)


def _begin(text: str | None) -> float | None:
    """Seconds since 1970. Raises UsageError."""
    if text is None:
        return None
    if ago := _AGO.fullmatch(text):
        return time.time() - int(ago[1]) * _UNITS[ago[2]]
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        raise UsageError(f"--since {text} is not a time", "such as 12h, 7d or 2026-11-30") from None


def _rows(where: Path, console: Console) -> Iterator[dict[str, Any]]:
    """The rows of the job files in a directory, each with file and path. Warns of damaged files. Raises VtraceError."""
    from vtrace.io.common.names import PACKED
    from vtrace.io.packed.job_row import read_job

    try:
        names = sorted(name for name in os.listdir(where) if name.endswith(PACKED))
    except FileNotFoundError:
        raise VtraceError(f"{where}: no such directory", "vtrace run --always PROGRAM makes it") from None
    for name in names:
        try:
            row = read_job(where / name)
        except VtraceError as error:
            console.warn(f"{error}: left out")
            continue
        if row is not None:
            yield {**row, "file": name, "path": str(where / name)}


def _tell_running(where: Path, console: Console) -> None:
    from vtrace.wrappers.launch.always import RUNNING

    running = sum(name.endswith(RUNNING) for name in os.listdir(where))
    if running:
        console.note(f"{some(running, 'job')} of this directory still running, or not yet written")
