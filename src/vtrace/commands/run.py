# SPDX-License-Identifier: BSD-3-Clause
"""vtrace run: help, errors of options, and unifying after the program.

vtrace.main runs a program without this module, since click costs each rank time.
"""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from vtrace import console as talk
from vtrace.console import CLICK_SETTINGS, Console
from vtrace.errors import NoFilesError, UsageError, VtraceError
from vtrace.wrappers.launch import choices, launchers, start
from vtrace.wrappers.launch.choices import Choices
from vtrace.wrappers.launch.preload import Plan

_HELP = """vtrace run preloads the recording libraries.

PROGRAM may be a launcher: mpiexec, mpirun, srun, prun, orterun, aprun, jsrun, flux run. vtrace run then records the
ranks, not the launcher. vtrace run also works behind the launcher, in front of the program. The exit code is the
program's. VT_ variables apply; an option overrides its variable."""

_EXAMPLES = """\b
Examples:
  vtrace run mpiexec -n 4 ./heat            all MPI calls of 4 ranks, then: vtunify heat
  mpiexec -n 4 vtrace run ./heat            the same
  vtrace run --unify mpiexec -n 4 ./heat    unify at the end: writes heat.trace/traces.otf2
  vtrace run --unify --view ./simulation    then show the timeline in a browser
  vtrace run --sample ./heat                call stacks, 100 times per second of CPU time
  vtrace run --io --memory sqlite3 my.db    I/O and memory of a serial program
  vtrace run --functions 'Solver::*' ./heat functions of a program compiled with -pg -mfentry, ...
  vtrace run mpiexec -n 4 python3 solve.py  a Python program that uses mpi4py
  vtrace run -v --mpicc mpicc.openmpi ...   an MPI that vtrace run does not find"""


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
        click.Option([option, key], metavar=metavar, help=help)
        for key, (option, metavar, help) in choices.VALUES.items()
    ]
    flags = [click.Option([option, key], is_flag=True, help=help) for key, (option, help) in choices.FLAGS.items()]
    words = click.Argument(["words"], metavar="PROGRAM [ARGUMENTS]...", nargs=-1, required=True, type=click.Path())
    return [*switches, *values, *flags, words]


def _with_sample_rate(args: list[str]) -> list[str]:
    """The words with a value for --sample before the program: click would take the next word."""
    valued = {option for option, _, _ in choices.VALUES.values()}
    found: list[str] = []
    rest = iter(args)
    for word in rest:
        found.append(f"{word}={choices.SAMPLE_RATE}" if word == "--sample" else word)
        if word == "--" or not word.startswith("-"):
            break
        if word in valued and word != "--sample":
            found += [value for value in (next(rest, None),) if value is not None]
    return [*found, *rest]


class _Command(click.Command):
    """Options end at the program's name: later ones are the program's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = next((i for i, word in enumerate(args) if word.startswith("--mpi=")), None)
        args = _with_sample_rate(args)
        if at is not None:  # click would take an optional value from the next word
            args = [*args[:at], "--mpi", "--mpicc", args[at].partition("=")[2], *args[at + 1 :]]
        return super().parse_args(ctx, args)


def _run(words: tuple[str, ...], unify: bool, view: bool, force: bool, verbose: bool, **others: Any) -> None:
    chosen = Choices(list(words))
    chosen.unify, chosen.view, chosen.force, chosen.verbose = unify, view, force, verbose
    if view and not unify:
        raise UsageError("--view needs an archive", "vtrace run --unify --view ...")
    for name, (option, what, _) in choices.VALUES.items():
        if others[name] == "":
            raise UsageError(f"{option}: {what} is empty", "check the shell variables in the command line")
        setattr(chosen, name, others[name])
    chosen.switches = {name: others[name] for name in choices.SWITCHES}
    environ = start.environment()
    if unify and launchers.rank(environ) is not None and launchers.size(environ) != 1:
        if launchers.rank(environ) == 0:
            start.say(
                "warning: nothing is unified: --unify must stand before the launcher: vtrace run --unify mpiexec ..."
            )
        unify = chosen.unify = False
    made = start.prepare(chosen, environ)
    if not unify:
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


def run_and_unify(made: Plan, chosen: Choices, environ: Mapping[str, str]) -> int:
    """Runs the program and unifies its local files. All messages go to standard error: standard output is the
    program's. Returns the program's exit code, or 1 if the program ended with 0 but there is no archive.
    """
    after = {**environ, **made.changes}
    if not after.get("VT_FILE_PREFIX") or not after.get("VT_PFORM_GDIR"):
        raise VtraceError(
            f"{shlex.join(chosen.words)}: --unify finds no program in this command line", "name the prefix with -o"
        )
    prefix = Path(os.path.relpath(os.path.join(after["VT_PFORM_GDIR"], after["VT_FILE_PREFIX"])))
    console = Console("vtrace", talk.environment_level("vtrace"))
    archive = Path(f"{prefix}.trace")
    if archive.exists() and not chosen.force:
        raise VtraceError(f"{archive} exists", "remove it, or replace it with --force")
    code = start.wait_for(made, environ)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    from vtrace.commands.vtunify import summary
    from vtrace.unify.discover.list_files import prefixes
    from vtrace.unify.run import Request, unify

    try:
        written = unify(Request(prefix, force=chosen.force), console)
    except (VtraceError, OSError) as error:
        if isinstance(error, NoFilesError) and not any(
            n.startswith(f"{prefix.name}_") for n in prefixes(prefix.parent)
        ):
            problem = f"{chosen.words[0]} wrote no local files of {prefix}"
            if code:  # a launcher that starts nothing prints why, and no option of vtrace helps
                problem += f" and ended with exit code {code}; see its messages above"
            hint = None if code else "record more: --io, --memory, or compile with vtrace-cc"
            error = VtraceError(f"nothing to unify: {problem}", hint)
        start.say(f"error: {error}")
        return code or 1
    console.note(summary(written))
    word = shlex.quote(str(prefix))
    if chosen.view:
        _show(prefix)
    else:
        console.note(f"next: vtrace summary {word}, vtrace view {word}")
    return code


def _show(prefix: Path) -> None:
    """Shows the timeline. A failure does not change the exit code, which is the program's."""
    from vtrace.commands.view import show

    try:
        show(str(prefix), err=True)
    except VtraceError as error:
        start.say(f"error: {error}")
