# SPDX-License-Identifier: BSD-3-Clause
"""vtrace run: help, errors of options, and unifying after the program.

vtrace.main runs a program without this module, since click costs each rank time.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from vtrace import console as talk
from vtrace.console import CLICK_SETTINGS, Console
from vtrace.errors import NoFilesError, UsageError, VtraceError
from vtrace.text import shell_command, shell_path
from vtrace.wrappers.launch import choices, launchers, mpip_variable, start
from vtrace.wrappers.launch.choices import Choices
from vtrace.wrappers.launch.preload import Plan, name_of

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
  vtrace run --io --memory sqlite3 my.db    I/O and memory of a serial program
  vtrace run --functions 'Solver::*' ./heat functions of a program compiled with -pg -mfentry, ...
  vtrace run mpiexec -n 4 python3 solve.py  a Python program that uses mpi4py
  vtrace run -v --mpicc mpicc.openmpi ...   an MPI that vtrace run does not find
  vtrace run --repeat-groups --counters topdown ./heat    a run for each group of counters
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
        click.Option([option, key], metavar=metavar, help=help)
        for key, (option, metavar, help) in choices.VALUES.items()
    ]
    flags = [click.Option([option, key], is_flag=True, help=help) for key, (option, help) in choices.FLAGS.items()]
    words = click.Argument(["words"], metavar="PROGRAM [ARGUMENTS]...", nargs=-1, type=click.Path())
    return [*switches, *values, *flags, words]


def _for_click(args: list[str]) -> list[str]:
    """The words with a value for --sample, and --mpi=CMD as two options: click would take an optional value from the
    next word. Words from the program on are unchanged."""
    valued = {option for option, _, _ in choices.VALUES.values()}
    found: list[str] = []
    rest = iter(args)
    for word in rest:
        if word.startswith("--mpi="):
            found += ["--mpi", "--mpicc", word.partition("=")[2]]
            continue
        found.append(f"{word}={choices.SAMPLE_RATE}" if word == "--sample" else word)
        if word == "--" or not word.startswith("-"):
            break
        if word in valued and word != "--sample":
            found += [value for value in (next(rest, None),) if value is not None]
    return [*found, *rest]


class _Command(click.Command):
    """Options end at the program's name: later ones are the program's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _for_click(args))


def _run(words: tuple[str, ...], view: bool, force: bool, verbose: bool, repeat_groups: bool, **others: Any) -> None:
    chosen = Choices(list(words))
    chosen.view, chosen.force, chosen.verbose, chosen.repeat_groups = view, force, verbose, repeat_groups
    if view and others["unify"] is False:
        raise UsageError("--view needs an archive", "leave out --no-unify")
    for name, (option, what, _) in choices.VALUES.items():
        if others[name] == "":
            raise UsageError(f"{option}: {what} is empty", "check the shell variables in the command line")
        setattr(chosen, name, others[name])
    chosen.switches = {name: others[name] for name in choices.SWITCHES}
    environ = start.environment()
    if chosen.bundle:
        _write_bundle(chosen, environ, Path(chosen.bundle))
        return
    if not words:
        raise click.MissingParameter(param_type="argument", param_hint="'PROGRAM [ARGUMENTS]...'")
    start.decide(chosen, environ)
    if (others["unify"] or view) and not chosen.unify and launchers.rank(environ) == 0:
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


def run_and_unify(made: Plan, chosen: Choices, environ: Mapping[str, str]) -> int:
    """Runs the program, unifies its local files and shows a summary. All messages go to standard error: standard output
    is the program's. Returns the program's exit code, or 1 if the program ended with 0 but there is no archive though
    --unify asks for one.
    """
    code, prefix = run_once(made, chosen, environ)
    if prefix is not None:
        show_run(prefix, chosen)
        if mpip_variable.wants_report(environ):
            _write_mpip(prefix)
    return code


def _write_mpip(prefix: Path) -> None:
    """Writes the report for which MPIP asks. A failure does not change the exit code, which is the program's."""
    from contextlib import redirect_stdout

    from vtrace.commands import mpip

    where = [] if "-f" in mpip_variable.options(os.environ)[0] else ["-f", "."]
    try:
        with redirect_stdout(sys.stderr):
            mpip.command.main([str(prefix), *where], "vtrace mpip", standalone_mode=False)
    except (VtraceError, click.ClickException, OSError) as error:
        start.say(f"no mpiP report: {error}")


def run_once(made: Plan, chosen: Choices, environ: Mapping[str, str]) -> tuple[int, Path | None]:
    """As run_and_unify, without showing anything. Returns the exit code, and the prefix of the archive, None without
    one."""
    after = {**environ, **made.changes}
    if not after.get("VT_FILE_PREFIX") or not after.get("VT_PFORM_GDIR"):
        if not chosen.switches["unify"]:
            start.become(made, environ)
        raise VtraceError(
            f"{shell_command(chosen.words)}: --unify finds no program in this command line", "name the prefix with -o"
        )
    place = name_of(after["VT_PFORM_GDIR"])
    whole = os.path.join(place, name_of(after["VT_FILE_PREFIX"]))
    with suppress(OSError):  # the current directory does not exist
        whole = min(os.path.relpath(whole), whole, key=len)
    prefix = Path(whole)
    directories = {place, after.get("VT_PFORM_LDIR") or place}
    before = _files(directories, prefix.name)
    code = start.wait_for(made, environ)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    failed = code or int(bool(chosen.switches["unify"]))
    console = Console("vtrace", talk.environment_level("vtrace"))
    try:
        from vtrace.commands.vtunify import summary
        from vtrace.unify.run import Request, unify

        _check_names(prefix, before, _files(directories, prefix.name))
        console.note(summary(unify(Request(prefix, force=chosen.force), console)))
    except NoFilesError as error:
        if chosen.switches["unify"] or not made.warnings:  # a warning has said that nothing is recorded
            nodes = bool(made.shown and environ.get("VT_PFORM_GDIR"))
            _report_no_files(error, prefix, code, chosen, nodes)
        return failed, None
    except (VtraceError, OSError) as error:
        text, word = str(error), shell_path(prefix)
        shared = isinstance(error, _SharedPrefixError)
        if not (shared or chosen.force) and os.path.lexists(archive := f"{prefix}.trace"):
            text = f"{archive} exists, and the local files stay; next: vtunify --force {word}"
        start.say(f"{'error' if chosen.switches['unify'] else 'not unified'}: {text}")
        return failed, None
    except KeyboardInterrupt:
        start.say(f"interrupted; the local files are unchanged; next: vtunify {shell_path(prefix)}")
        return failed, None
    return code, prefix


def show_run(prefix: Path, chosen: Choices) -> None:
    """Shows the timeline or a summary of an archive, unless VT_VERBOSE is 0."""
    console = Console("vtrace", talk.environment_level("vtrace"))
    if chosen.view:
        _show(prefix)
    elif console.level >= talk.NORMAL:
        _summarise(prefix, console)


def _files(directories: Iterable[str], name: str) -> dict[str, tuple[int, int]]:
    """The local files of a prefix and their states, by which a run distinguishes its own files from those of an earlier
    run."""
    found = {}
    ends = (".uctl", ".buffer", ".def", ".def.z", ".events", ".events.z", ".lock")
    for directory in directories:
        with suppress(OSError), os.scandir(directory) as entries:
            for entry in entries:
                if entry.name.startswith(f"{name}.") and entry.name.endswith(ends):
                    about = entry.stat(follow_symlinks=False)
                    found[entry.path] = about.st_ino, about.st_mtime_ns
    return found


class _SharedPrefixError(VtraceError):
    """Two runs used one prefix at the same time: the files of one have a number after the prefix."""


def _check_names(prefix: Path, before: Mapping[str, tuple[int, int]], after: Mapping[str, tuple[int, int]]) -> None:
    """Raises VtraceError if the files of the prefix may be those of another run. before, after: results of _files."""
    if before and before == after:
        raise NoFilesError(f"the local files of {prefix} belong to another run, not to this one")
    lock = next((path for path in after if path.endswith(".lock")), "")  # the runtime counts the prefix's runs there
    if lock and before.get(lock) != after[lock]:
        word = shell_path(prefix)
        raise _SharedPrefixError(
            f"two runs used the prefix {prefix} at the same time, and one of them has named its files {prefix}_N: "
            f"the local files stay; next: vtunify {word} or vtunify {word}_N"
        )


def _report_no_files(error: NoFilesError, prefix: Path, code: int, chosen: Choices, nodes: bool) -> None:
    """Says why there is nothing to unify. nodes: the local files may be on other nodes."""
    from vtrace.unify.discover.list_files import prefixes

    found: VtraceError = error
    if not any(name.startswith(f"{prefix.name}_") for name in prefixes(prefix.parent)):
        problem = f"{chosen.words[0]} wrote no local files of {prefix}"
        if code:  # a launcher that starts nothing prints why, and no option of vtrace helps
            problem += f" and ended with exit code {code}; see its messages above"
        hint = None if code else "record more: --io, --memory, or compile with vtrace-cc"
        if hint and nodes:
            problem += " that are visible here"
            there = f"vtunify-mpi -o NAME {shell_path(prefix)}"
            hint = f"if each node has a {prefix.parent} of its own, start a rank on each: mpiexec {there}; else {hint}"
        found = VtraceError(f"nothing to unify: {problem}", hint)
    start.say(f"error: {found}" if chosen.switches["unify"] else str(found))


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
