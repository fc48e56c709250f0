# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program and unifies its local files. Imports what unifies only if there are local files, since programs that
record nothing are short, too."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from vtrace.errors import NoFilesError, VtraceError
from vtrace.text import shell_command, shell_path
from vtrace.wrappers.launch import mpip_variable, start
from vtrace.wrappers.launch.preload import name_of

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the cost of importing typing
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from vtrace.wrappers.launch.choices import Choices
    from vtrace.wrappers.launch.preload import Plan


def run_and_unify(made: Plan, chosen: Choices, environ: Mapping[str, str]) -> int:
    """Runs the program, unifies its local files and shows a summary. All messages go to standard error: standard output
    is the program's. Returns the program's exit code, or 1 if the program ended with 0 but there is no archive though
    --unify asks for one.
    """
    code, prefix = run_once(made, chosen, environ)
    if prefix is not None:
        from vtrace.commands.run import show_run

        show_run(prefix, chosen)
        if mpip_variable.wants_report(environ):
            _write_mpip(prefix)
    return code


def _write_mpip(prefix: Path) -> None:
    """Writes the report for which MPIP asks. A failure does not change the exit code, which is the program's."""
    from contextlib import redirect_stdout

    import click

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
    directory, name = name_of(after["VT_PFORM_GDIR"]), name_of(after["VT_FILE_PREFIX"])
    directories = {directory, after.get("VT_PFORM_LDIR") or directory}
    before = _files(directories, name)
    code = start.wait_for(made, environ)
    left = _files(directories, name)
    prefix = os.path.join(directory, name)
    with suppress(OSError):  # the current directory does not exist
        prefix = min(os.path.relpath(prefix), prefix, key=len)
    nodes = bool(made.shown and environ.get("VT_PFORM_GDIR"))
    asked = bool(chosen.switches["unify"])
    try:
        _check_names(prefix, before, left)
        return code, _unify(prefix, chosen)
    except NoFilesError as error:
        if asked or not made.warnings:  # a warning has said that nothing is recorded
            _report_no_files(error, prefix, code=code, chosen=chosen, nodes=nodes)
    except (VtraceError, OSError) as error:
        text, word = str(error), shell_path(prefix)
        shared = isinstance(error, _SharedPrefixError)
        if not (shared or chosen.force) and os.path.lexists(archive := prefix + _ending(chosen)):
            packed = "--packed " if chosen.packed else ""
            text = f"{archive} exists, and the local files stay; next: vtunify {packed}--force {word}"
        start.say(f"{'error' if asked else 'not unified'}: {text}")
    except KeyboardInterrupt:
        start.say(f"interrupted; the local files are unchanged; next: vtunify {shell_path(prefix)}")
    return code or int(asked), None


def _unify(prefix: str, chosen: Choices) -> Path:
    """Unifies the local files, and says so. SIGTERM has the effect of an interrupt from here on. Raises VtraceError."""
    import signal

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    from pathlib import Path

    from vtrace import console as talk
    from vtrace.commands.vtunify import summary
    from vtrace.unify.run import Request, unify

    console = talk.vtrace_console()
    ending = _ending(chosen)
    archive, last = Path(prefix + ending), Path(f"{prefix}~{ending}")
    stays = not chosen.force and _of_a_run(archive) and (_of_a_run(last) or not os.path.lexists(last))
    force, last_of = chosen.force or stays, last if stays else None
    request = Request(prefix=Path(prefix), force=force, last=last_of, packed=chosen.packed, by_run=True)
    console.note(summary(unify(request, console)))
    if request.last and _of_a_run(last):
        words = shell_command([str(last.with_suffix("")), prefix])
        console.note(f"the archive of the run before is {last} now; to compare both: vtrace diff {words}")
    return Path(prefix)


def _ending(chosen: Choices) -> str:
    from vtrace.io.common.names import PACKED

    return PACKED if chosen.packed else ".trace"


def _of_a_run(archive: Path) -> bool:
    from vtrace.io.common.names import BY_RUN
    from vtrace.io.packed.container import has_file

    return not archive.is_symlink() and ((archive / BY_RUN).is_file() or has_file(archive, BY_RUN))


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


def _check_names(prefix: str, before: Mapping[str, tuple[int, int]], after: Mapping[str, tuple[int, int]]) -> None:
    """Raises VtraceError if there are no files of the prefix, or if they may be those of another run. before, after:
    results of _files."""
    if not after:
        raise NoFilesError(f"no local files of {prefix}")
    if before and before == after:
        raise NoFilesError(f"the local files of {prefix} belong to another run, not to this one")
    lock = next((path for path in after if path.endswith(".lock")), "")  # the runtime counts the prefix's runs there
    if lock and before.get(lock) != after[lock]:
        word = shell_path(prefix)
        raise _SharedPrefixError(
            f"two runs used the prefix {prefix} at the same time, and one of them has named its files {prefix}_N: "
            f"the local files stay; next: vtunify {word} or vtunify {word}_N"
        )


def _report_no_files(error: NoFilesError, prefix: str, code: int, chosen: Choices, *, nodes: bool) -> None:
    """Says why there is nothing to unify. nodes: the local files may be on other nodes."""
    from pathlib import Path

    from vtrace.unify.discover.list_files import prefixes

    found: VtraceError = error
    directory, name = os.path.split(prefix)
    if not any(other.startswith(f"{name}_") for other in prefixes(Path(directory))):
        problem = f"{chosen.words[0]} wrote no local files of {prefix}"
        if code:  # a launcher that starts nothing prints why, and no option of vtrace helps
            problem += f" and ended with exit code {code}; see its messages above"
        hint = None if code else "record more: --io, --memory, or compile with vtrace-cc"
        if hint and nodes:
            problem += " that are visible here"
            there = f"vtunify-mpi -o NAME {shell_path(prefix)}"
            hint = (
                f"if each node has a {directory or '.'} of its own, start a rank on each: mpiexec {there}; else {hint}"
            )
        found = VtraceError(f"nothing to unify: {problem}", hint)
    start.say(f"error: {found}" if chosen.switches["unify"] else str(found))
