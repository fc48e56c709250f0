# SPDX-License-Identifier: BSD-3-Clause
"""vtunify: unifies the local files of a run into one OTF2 archive."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from vtrace import __version__
from vtrace import console as talk
from vtrace.commands.completion import complete_prefix
from vtrace.console import CLICK_SETTINGS, Console, some
from vtrace.errors import NoFilesError, VtraceError
from vtrace.io.common.names import PACKED
from vtrace.io.common.outfile import is_foreign
from vtrace.parallel.ranks import ALONE, Ranks
from vtrace.text import shell_path

if TYPE_CHECKING:
    from vtrace.analysis.findings.diagnosis_pass import WrittenDiagnosis
    from vtrace.timeline.tile_pass import WrittenTiles
    from vtrace.unify.run import Request, WrittenArchive

_HELP = """Unify the local files of a traced program's last run into one OTF2 archive.

PREFIX is the program's name without .out or .exe, or VT_FILE_PREFIX, with the directory of the files
if not the current one. The archive is the directory PREFIX.trace. vtunify removes the local files after the archive is
complete."""

_EXAMPLES = """\b
Examples:
  mpiexec -n 4 ./heat && vtunify heat       writes heat.trace/traces.otf2
  vtunify results/heat                      for files in results/
  vtunify -k -o first heat                  writes first.trace, keeps the local files
  vtunify --also report heat                writes heat.html as well
  vtunify --also diagnose heat              shows why the run takes its time
  vtunify --partial heat                    go on without ranks that have no files here
  vtunify --packed heat                     writes heat.vtz, a file of a tenth of the size
  vtunify --salvage heat                    after a crash that damaged files"""


_ALSO = ("report", "tiles", "diagnose")
"""The values of --also, and old options of the same names."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The values of the options. nocompress: of VampirTrace's option."""

    prefix: str
    name: str | None
    keep: bool
    progress: bool
    levels: tuple[bool, ...]
    jobs: int | None
    force: bool
    partial: bool
    salvage: bool
    no_repair: bool
    packed: bool
    samples: str | None
    also: tuple[str, ...]
    nocompress: bool

    @property
    def is_named(self) -> bool:
        """Whether the archive has another name than the prefix."""
        return bool(self.name) or self.keep

    def request(self, prefix: Path) -> Request:
        """What to unify."""
        from vtrace.unify.run import Request

        return Request(
            prefix=prefix, name=self.name, keep=self.keep, force=self.force, salvage=self.salvage, jobs=self.jobs or 0,
            partial=self.partial, repair=not self.no_repair, samples=self.samples, packed=self.packed,
        )  # fmt: skip


def arguments(name: str, jobs: int | None, jobs_help: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Returns a decorator that adds the arguments of vtunify and vtunify-mpi, the fields of Options.

    name: of the program; jobs: threads without -j (None: one a core); jobs_help: help of -j.
    """
    parts = [
        click.argument("prefix", shell_complete=complete_prefix),
        click.option(
            "-o", "name", metavar="NAME", help="Write NAME.trace; beside the local files if NAME has no directory."
        ),
        click.option(
            "-k", "--keeplocal", "keep", is_flag=True, help="Keep the local files; the archive is u_PREFIX.trace."
        ),
        click.option("-p", "--progress", is_flag=True, help="Show the progress."),
        click.option(
            "-v/-q", "--verbose/--quiet", "levels", multiple=True,
            help="-v: print each step, -vv: also each file; -q: print errors only.",
        ),
        click.option("-j", "jobs", metavar="N", type=click.IntRange(1, 1024), default=jobs, help=jobs_help),
        click.option(
            "--packed", is_flag=True,
            help="Write one small file, PREFIX.vtz, which the commands of vtrace read; vtrace unpack makes OTF2 of it.",
        ),
        click.option("--force", is_flag=True, help="Replace an archive that exists."),
        click.option("--partial", is_flag=True, help="Go on without missing ranks, files and buffers."),
        click.option(
            "--salvage",
            is_flag=True,
            help="Like --partial; also recover records before damage and from programs still running.",
        ),
        click.option("--no-repair", is_flag=True, help="Do not move clocks where messages run backwards."),
        click.option(
            "--samples",
            type=click.Choice(("archive", "sidecar", "none")),
            help="Write samples as events of the archive, of a second archive inside it, or not at all "
            "[default: archive; sidecar if vtrace run took them without --sample].",
        ),
        click.option(
            "--also", type=click.Choice(_ALSO), multiple=True,
            help="Then write PREFIX.html, like vtrace report; make the tiles of vtrace view, which then starts "
            "immediately; or show why the run takes its time, and keep the findings. May be repeated.",
        ),
        *(click.option(f"--{one}", "also", flag_value=one, multiple=True, hidden=True) for one in _ALSO),
        click.option("--nocompress", is_flag=True, hidden=True),  # of VampirTrace: OTF2 archives are never compressed
        click.version_option(
            __version__, "-V", "--version", prog_name=name, message="%(prog)s (vtrace) %(version)s", hidden=True
        ),
    ]  # fmt: skip

    def add(function: Callable[..., None]) -> Callable[..., None]:
        for part in reversed(parts):
            function = part(function)
        return function

    return add


@click.command(help=_HELP, epilog=_EXAMPLES, context_settings=CLICK_SETTINGS)
@arguments("vtunify", None, "Threads to use [default: cores, up to 8].")
def command(**values: Any) -> None:
    from vtrace.unify.run import unify

    options = Options(**values)
    console = Console("vtunify", level(options.levels, talk.environment_level("vtunify")), options.progress)
    signal.signal(
        signal.SIGTERM, signal.default_int_handler
    )  # so that the end of a batch job leaves no unfinished archive either
    path = prefix_of(options.prefix, console)
    check_report(options)
    follow_up = FollowUp(options.also, threads=options.jobs, samples=options.samples)

    def listen(anchor: Path) -> WrittenTiles | WrittenDiagnosis:
        nonlocal follow_up
        if "tiles" in options.also:  # one pass cannot serve both: tiles count events that a diagnosis must not see
            from vtrace.timeline.tile_pass import WrittenTiles

            follow_up = follow_up._replace(written_tiles=(made := WrittenTiles(anchor)))
            return made
        from vtrace.analysis.findings.diagnosis_pass import WrittenDiagnosis

        follow_up = follow_up._replace(written_diagnosis=(found := WrittenDiagnosis(anchor)))
        return found

    try:
        listens = not options.packed and not {"tiles", "diagnose"}.isdisjoint(options.also)
        written = unify(options.request(path), console, listen=listen if listens else None)
    except NoFilesError as error:
        report_unified(unified_before(path, options, error), options.is_named, follow_up, console)
        return
    target = written.archive if options.is_named else path
    report_written(written, console, target=target, near=path.parent, follow_up=follow_up)


class FollowUp(NamedTuple):
    """The work that follows after an archive is written: the values of --also."""

    also: tuple[str, ...]
    ranks: Ranks = ALONE
    threads: int | None = None
    """Threads of each rank that shares the diagnosis; None: one per core."""
    samples: str | None = None
    """The user's choice: an archive whose samples are to stay beside its events gets no data of other tools."""
    written_tiles: WrittenTiles | None = None
    written_diagnosis: WrittenDiagnosis | None = None
    """The tiles, and the diagnosis, from the events as they were written; None: the archive must be read."""


def prefix_of(operand: str, console: Console) -> Path:
    """Returns the prefix for a user's word, and says so if it differs. Raises UsageError."""
    from vtrace.unify.discover.list_files import resolve_prefix

    path = resolve_prefix(operand)
    if path != Path(operand):
        console.note(f"the prefix of {operand} is {path}")
    return path


def check_report(options: Options) -> None:
    """Raises VtraceError if a report is wanted and cannot be made: before long work, not after it."""
    if "report" in options.also:
        from vtrace.reports.report import plotly

        plotly()


def unified_before(prefix: Path, options: Options, error: NoFilesError) -> Path:
    """Returns the archive of a request without local files; raises the error if there is none."""
    from vtrace.io.archive.overview import find_anchor

    archive = options.request(prefix.with_suffix("") if prefix.suffix in (".trace", PACKED) else prefix).archive
    if find_anchor(archive) is None:
        raise error
    return archive


def report_unified(archive: Path, named: bool, follow_up: FollowUp, console: Console) -> None:
    """Reports that an archive exists already. named: the user has named it."""
    console.result(f"{archive}: already unified, and there are no local files of a later run")
    do_follow_up(console, archive if named else archive.with_suffix(""), archive, follow_up)


def report_written(written: WrittenArchive, console: Console, target: Path, near: Path, *, follow_up: FollowUp) -> None:
    """Prints the summary of an archive, imports data of other tools, then calls do_follow_up.

    target: names the archive for the user; near: directory of the local files."""
    console.result(summary(written))
    _import_beside(written.archive, near, console, follow_up.samples)
    do_follow_up(console, target, written.archive, follow_up)


def _import_beside(archive: Path, directory: Path, console: Console, samples: str | None) -> None:
    """Adds the files NAME-hostname-HOST.csv of the run's hosts, beside the local files, to an archive; warns of each
    file that cannot be imported, and leaves this file out."""
    paths = sorted(path for path in directory.glob("*-hostname-?*.csv") if path.is_file() and not is_foreign(path))
    if not paths:
        return
    if archive.suffix == PACKED:
        words = shell_path(archive), shell_path(paths[0])
        console.warn(f"not imported: {paths[0]} (vtrace import {' '.join(words)} -o NEW)")
        return
    import vtrace
    from vtrace.transform.external_data import host_of, read_external
    from vtrace.transform.importing import has_second_archive, import_data

    hosts = set(vtrace.open(archive).processes["host"].tolist())
    for path in paths:
        if host_of(path) not in hosts:
            console.detail(f"{path} is of another host: not imported")
            continue
        try:
            trace = vtrace.open(archive)
            if samples and has_second_archive(trace):
                raise VtraceError(f"{path}: the samples are in a second archive", "unify without --samples=sidecar")
            made = import_data(trace, [read_external(path)], archive, console)
        except VtraceError as error:
            console.warn(f"not imported: {error}")
            continue
        for note in made.notes:
            console.warn(note)
        what = f"{some(made.intervals, 'interval')}, {some(made.values, 'value')}"
        console.result(f"{path.name}: {what} imported on {some(made.lanes, 'location')}")


def do_follow_up(console: Console, target: Path, archive: Path, follow_up: FollowUp) -> None:
    """Prints the next command for an archive, or does the further work; target: names the archive for the user."""
    from vtrace.io.sidecar import sidecar

    word, has_events = shell_path(target), not (archive / sidecar.FOLDER / sidecar.PROFILE[0]).is_file()
    if "tiles" in follow_up.also and has_events:
        make_tiles(archive, console, follow_up.written_tiles)
    if "diagnose" in follow_up.also:
        from vtrace.commands.diagnose import after_unifying

        after_unifying(
            archive, console, ranks=follow_up.ranks, threads=follow_up.threads, written=follow_up.written_diagnosis
        )
    if "report" in follow_up.also:
        from vtrace.commands.report import write_of

        write_of(str(archive), default=Path(f"{str(target).removesuffix('.trace').removesuffix(PACKED)}.html"))
    elif "diagnose" not in follow_up.also:
        more = f"vtrace view {word}" if has_events else f"vtrace profile {word} --by callpath"
        console.result(f"next: vtrace summary {word}, {more}")


def make_tiles(archive: Path, console: Console, written: WrittenTiles | None) -> None:
    """Writes the tiles of an archive; reads its events, with progress, if they were not written. Raises VtraceError."""
    from vtrace.analysis.source import Source
    from vtrace.io.archive.overview import find_anchor
    from vtrace.timeline.tile_cache import tiles_of

    anchor = find_anchor(archive)
    assert anchor is not None  # it has just been written
    trace = Source(anchor)
    with suppress(VtraceError, OSError):  # tiles_of reports why they cannot be written
        if written and written.write(trace):
            return
    console.detail("reading the events once more for the tiles")
    tiles_of(trace, console, beside=True).close()


def summary(written: WrittenArchive) -> str:
    """Returns a line about a finished archive."""
    world = some(written.ranks, "rank") if written.ranks else some(written.processes, "process", "processes")
    what = (
        f"{some(written.events, 'event')}, {some(written.messages, 'message')}, "
        f"{some(written.collectives, 'collective call')}"
    )
    if written.calls is not None and not written.events:
        what = f"a profile of {some(written.calls, 'call')}"
    if written.counted:
        what += f", {some(written.counted, 'call')} only counted"
    if written.left_out:
        what += f", calls of {some(written.left_out, 'function')} left out (VT_BUDGET)"
    if written.last:
        what += f", the last events in {written.last}"
    return f"{written.archive}: {world}, {some(written.locations, 'location')}, {what}, {written.seconds:.6g} s"


def level(words: tuple[bool, ...], start: int) -> int:
    """Returns the verbosity after -v (True) and -q in their order; the last kind counts. start: without options."""
    now = start
    before: bool | None = None
    for word in words:
        now = talk.QUIET if not word else min(now + 1, talk.DEBUG) if before else talk.VERBOSE
        before = word
    return now


def reduce_overhead() -> None:
    """Turns off unnecessary work of Python, OpenBLAS and NumPy. Must be called before numpy is loaded."""
    gc.disable()  # few objects form cycles, and the search for them takes longer with each location
    atexit.register(gc.freeze)  # else Python looks for cycles at the exit
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # else OpenBLAS starts a thread for each core
    # Huge pages cost a virtual machine whose host takes back free memory five times as much as small ones.
    os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")


def main() -> int:
    """Runs vtunify on sys.argv; returns the exit code."""
    reduce_overhead()
    code = talk.run(command, "vtunify")
    if packed := sys.modules.get("vtrace.io.packed.opened"):  # vtunify ends without Python's exit handlers (entry.py)
        packed.remove_folders()
    return code
