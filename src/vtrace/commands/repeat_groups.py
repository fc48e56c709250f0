# SPDX-License-Identifier: BSD-3-Clause
"""vtrace run --repeat-groups: several runs of the program, each with counters that the processor counts together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from vtrace.analysis.counter_runs import adopt_run
from vtrace.commands.run import show_run
from vtrace.commands.whole_run import run_once
from vtrace.errors import UsageError, VtraceError
from vtrace.text import shell_command, shell_path
from vtrace.wrappers.launch import start
from vtrace.wrappers.launch.choices import Choices
from vtrace.wrappers.launch.counters import counter_groups
from vtrace.wrappers.launch.preload import native_counters


def run_groups(chosen: Choices, environ: Mapping[str, str]) -> int:
    """Runs the program once for each group, and puts the archives of later runs into that of the first. A run that
    fails is the last one. Returns the exit code of the last run."""
    if not chosen.counters:
        raise UsageError("--repeat-groups without --counters", "vtrace run --repeat-groups --counters NAME,... PROGRAM")
    if not chosen.unify:
        raise UsageError(
            "--repeat-groups merges archives, and this command unifies none",
            "put vtrace run before the launcher, without --no-unify",
        )
    names, warnings = native_counters(chosen.counters, environ)
    for text in warnings:
        start.say(f"warning: {text}")
    groups, first, code = counter_groups(names), None, 0
    for number, group in enumerate(groups, 1):
        if len(groups) > 1:
            start.say(f"run {number} of {len(groups)}: {', '.join(group)}")
        code, prefix = _run_group(chosen, environ, group=group, first=first, number=number)
        if number == 1:
            first = prefix
        if code or prefix is None:
            _tell_missing(groups[number:] if prefix else groups[number - 1 :])
            break
    if first is not None:
        show_run(first, chosen)
        start.say(f"next: vtrace profile {shell_path(first)} --metrics NAME,...   for the counters of all runs")
    return code


def _run_group(
    chosen: Choices, environ: Mapping[str, str], group: list[str], first: Path | None, *, number: int
) -> tuple[int, Path | None]:
    """first: prefix of the first run's archive. Returns as run_once."""
    own = Choices(chosen.words)
    own.__dict__ |= vars(chosen) | {"counters": ",".join(group)}
    if first is not None:
        own.prefix, own.force = f"{first}.run{number}", True
    code, prefix = run_once(start.prepare(own, environ), own, environ)
    if first is not None and prefix is not None:
        try:
            adopt_run(Path(f"{first}.trace"), Path(f"{prefix}.trace"), number)
        except OSError as error:
            hint = f"it stays in {prefix}.trace; repeat the run where {first}.trace can be written"
            raise VtraceError(f"cannot move the archive of run {number}: {error.strerror}", hint) from None
    return code, prefix


def _tell_missing(groups: list[list[str]]) -> None:
    missing = [name for group in groups for name in group]
    if missing:
        start.say(f"the runs end here: not recorded: {shell_command(missing)}")
