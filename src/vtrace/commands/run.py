# SPDX-License-Identifier: BSD-3-Clause
"""Prepare: Run a program and record it, without rebuilding.

vtrace.main runs a program without this module, since click costs time.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from vtrace import console as talk
from vtrace.commands.always import run_always
from vtrace.commands.whole_run import run_and_unify
from vtrace.console import CLICK_SETTINGS, Console
from vtrace.errors import UsageError, VtraceError
from vtrace.text import shell_path
from vtrace.wrappers.launch import choices, launchers, start
from vtrace.wrappers.launch.choices import Choices

_HELP = """vtrace run preloads the recording libraries.

PROGRAM may be a launcher: mpiexec, mpirun, srun, prun, orterun, aprun, jsrun, flux run. vtrace run then records the
ranks, not the launcher. vtrace run also works after the launcher, before the program. The exit code is the
program's. VT_ variables apply; an option overrides its variable.

A command that starts all processes itself unifies at the end and shows a summary on standard error; --no-unify leaves
the local files for vtunify."""

_EXAMPLES = """\b
Examples:
  vtrace run mpiexec -n 4 ./heat            all MPI calls of 4 ranks: writes heat.trace/traces.otf2
  mpiexec -n 4 vtrace run ./heat            the same after the launcher, then: vtunify heat
  vtrace run --view ./simulation            then show the timeline in a browser
  vtrace run --sample ./heat                call stacks, 100 times per second of CPU time
  vtrace run --devices ./solver             kernels and copies of CUDA and OpenCL
  vtrace run --io --memory sqlite3 my.db    I/O and memory of a serial program
  vtrace run --functions 'Solver::*' ./heat functions of a program compiled with -pg -mfentry, ...
  vtrace run mpiexec -n 4 python3 solve.py  a Python program that uses mpi4py
  vtrace run -v --mpi=mpicc.openmpi ...    an MPI that vtrace run does not find
  vtrace run --repeat-groups --counters topdown ./heat    a run for each group of counters
  vtrace run --always srun ./heat           a small file a job, no messages: vtrace jobs lists them
  vtrace run --bundle traced ./heat         for a container: mpiexec -n 4 traced/vtrace-run ./heat"""


def _options() -> list[click.Parameter]:
    switches = [
        click.Option(
            [f"--{name}/--no-{name}"],
            default=None,
            help=f"{does}; sets {setting}{f' [default: {default}]' if default else ''}.",
        )
        for name, (setting, does, default) in choices.SWITCHES.items()
    ]
    values = [
        click.Option([option, key], metavar=metavar, help=help, hidden=key in choices.ALIASES)
        for key, (option, metavar, help) in choices.VALUES.items()
    ]
    flags = [click.Option([option, key], is_flag=True, help=help) for key, (option, help) in choices.FLAGS.items()]
    words = click.Argument(["words"], metavar="PROGRAM [ARGUMENTS]...", nargs=-1, type=click.Path())
    return [*switches, *values, *flags, words]


def _for_click(args: list[str]) -> list[str]:
    """The words with a value for --sample and the like, and --mpi=CMD as two options: click would take an optional
    value from the next word. Words from the program on are unchanged."""
    valued = {option for option, _, _ in choices.VALUES.values()}
    found: list[str] = []
    rest = iter(args)
    for word in rest:
        if word.startswith("--mpi="):
            found += ["--mpi", "--mpicc", word.partition("=")[2]]
            continue
        found.append(f"{word}={choices.WITHOUT_VALUE[word]}" if word in choices.WITHOUT_VALUE else word)
        if word == "--" or not word.startswith("-"):
            break
        if word in valued - choices.WITHOUT_VALUE.keys():
            found += [value for value in (next(rest, None),) if value is not None]
    return [*found, *rest]


class _Command(click.Command):
    """Options end at the program's name: later ones are the program's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _for_click(args))


def _run(words: tuple[str, ...], **others: Any) -> None:
    chosen = Choices(list(words))
    chosen.samples_by_default = True
    for name in choices.FLAGS:
        setattr(chosen, name, others[name])
    if chosen.view and others["unify"] is False:
        raise UsageError("--view needs an archive", "leave out --no-unify")
    for name, (option, what, _) in choices.VALUES.items():
        if others[name] == "":
            raise UsageError(f"{option}: {what} is empty", "check the shell variables in the command line")
        setattr(chosen, name, others[name])
    chosen.switches = {name: others[name] for name in choices.SWITCHES}
    if told := choices.excluded(chosen):
        raise UsageError(told, "leave one of them out")
    environ = start.environment()
    if chosen.bundle:
        _write_bundle(chosen, environ, Path(chosen.bundle))
        return
    if not words:
        raise click.MissingParameter(param_type="argument", param_hint="'PROGRAM [ARGUMENTS]...'")
    if chosen.always:
        run_always(chosen, environ)
    start.decide(chosen, environ)
    if (others["unify"] or chosen.view) and not chosen.unify and launchers.rank(environ) == 0:
        start.say("warning: nothing is unified: put vtrace run before the launcher: vtrace run mpiexec ...")
    if chosen.repeat_groups:
        from vtrace.commands.repeat_groups import run_groups

        click.get_current_context().exit(run_groups(chosen, environ))
    made = start.prepare(chosen, environ)
    if not chosen.unify:
        start.become(made, environ)
    click.get_current_context().exit(run_and_unify(made, chosen, environ))


command = _Command(
    "run",
    callback=_run,
    params=_options(),
    help=_HELP,
    epilog=_EXAMPLES,
    context_settings={**CLICK_SETTINGS, "allow_interspersed_args": False},
)


def _write_bundle(chosen: Choices, environ: Mapping[str, str], directory: Path) -> None:
    from vtrace.wrappers.launch import bundle

    bundle.write(chosen, environ, directory)
    start.say(f"next, where the program runs: {shell_path(directory / bundle.SCRIPT)} PROGRAM")


def show_run(prefix: Path, chosen: Choices) -> None:
    """Shows the timeline or a summary of an archive, unless VT_VERBOSE is 0."""
    console = talk.vtrace_console()
    if chosen.view:
        _show(prefix)
    elif console.level >= talk.NORMAL:
        _summarise(prefix, console)


def _summarise(prefix: Path, console: Console) -> None:
    """Shows where the time went. A failure does not change the exit code, which is the program's."""
    from contextlib import redirect_stdout

    from vtrace.commands.summary import show_in_brief

    try:
        with redirect_stdout(sys.stderr):
            show_in_brief(str(prefix), console)
    except (VtraceError, OSError) as error:
        start.say(f"error: {error}")
    except KeyboardInterrupt:
        start.say(f"interrupted; the archive is complete; next: vtrace summary {shell_path(prefix)}")


def _show(prefix: Path) -> None:
    """Shows the timeline. A failure does not change the exit code, which is the program's."""
    from vtrace.commands.view import show

    try:
        show(str(prefix), err=True)
    except VtraceError as error:
        start.say(f"error: {error}")
