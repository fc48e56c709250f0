# SPDX-License-Identifier: BSD-3-Clause
"""Share: Read what other tools recorded, as a new archive or beside a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vtrace.commands.completion import complete_target
from vtrace.commands.trace_command import new_archive_option, opened
from vtrace.console import Console, some, vtrace_console
from vtrace.errors import UsageError
from vtrace.text import json_text, plain, shell_word

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace
    from vtrace.transform.external_data import ExternalData


@click.command()
@click.argument("words", metavar="[ARCHIVE] FILE...", nargs=-1, required=True, shell_complete=complete_target)
@click.option("--force", is_flag=True, help="Replace an archive that exists.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(words: tuple[str, ...], *, output: Path, force: bool, as_json: bool) -> None:
    """Without ARCHIVE: a new archive of traces in Chrome's JSON (PyTorch's profiler, viztracer, JAX; also with gzip) or
    SQLite (nsys export --type sqlite, rocprofv3). Several files are the ranks of one run.

    With ARCHIVE, a prefix, the directory of an OTF2 archive or its .otf2 file: a copy of it with these intervals and
    values, also those of files in VTune's format for external data, whose names end with -hostname-HOST.csv. Their
    first line is one of:

    \b
      name,start_tsc.CLOCK,end_tsc[,pid][,tid]
      tsc.CLOCK,NAME.COUNT|INST[,...][,pid][,tid]

    CLOCK is RDTSC, CLOCK_MONOTONIC_RAW or UTC.

    \b
    Examples:
      vtrace import rank0.json rank1.json -o train
      vtrace import report.sqlite -o gpu
      vtrace import heat torch.json -o both
      vtrace import heat power-hostname-*.csv -o both
    """
    from vtrace.transform.new_archive import target
    from vtrace.transform.recordings.reading import is_recording

    console, where = vtrace_console(), target(output, force)
    paths = [Path(word) for word in words]
    if is_recording(paths[0]):
        about = _new(paths, where, console)
    elif len(words) > 1:
        about = _beside(opened(words[0]), paths[1:], where, console)
    else:
        why = "is no trace of another tool" if paths[0].exists() else "does not exist"
        raise UsageError(f"{words[0]} {why}", "vtrace import FILE... -o NEW, or vtrace import ARCHIVE FILE... -o NEW")
    for line in about.pop("notes"):
        console.warn(line)
    if as_json:
        click.echo(json_text(about, indent=1))
        return
    counted = (("processes", "process", "processes"), ("intervals", "interval", None), ("values", "value", None))
    numbers = [some(about[key], one, many) for key, one, many in counted if key in about]
    places = some(about["locations" if "locations" in about else "lanes"], "location")
    click.echo(plain(f"{about['archive']}: {', '.join(numbers)} on {places}"))
    if left := about.get("tables_left_out"):
        console.note(f"not in the new archive: {', '.join(left)} (tables of the old one)")
    word = shell_word(where.with_suffix(""))
    console.note(f"next: vtrace summary {word}, vtrace view {word}")


command.params.insert(1, new_archive_option())


def _new(paths: Sequence[Path], where: Path, console: Console) -> dict[str, Any]:
    """An archive of recordings alone. Raises VtraceError."""
    from vtrace.transform.recordings.archive import write_recordings
    from vtrace.transform.recordings.reading import read_recordings

    made = write_recordings(read_recordings(paths, console), where, console)
    return {
        "archive": str(made.path), "processes": made.processes, "locations": made.locations,
        "intervals": made.intervals, "notes": made.notes,
    }  # fmt: skip


def _beside(trace: Trace, paths: Sequence[Path], where: Path, console: Console) -> dict[str, Any]:
    """A copy of an archive with the data of files. Raises VtraceError."""
    from vtrace.transform.importing import import_data

    notes: list[str] = []
    data = [part for path in paths for part in _data(trace, path, notes, console)]
    made = import_data(trace, data, where, console)
    return {
        "archive": str(made.path), "of": str(trace.path), "lanes": made.lanes, "intervals": made.intervals,
        "values": made.values, "tables_left_out": list(made.left), "notes": notes + made.notes,
    }  # fmt: skip


def _data(trace: Trace, path: Path, notes: list[str], console: Console) -> Iterator[ExternalData]:
    """The data of a file; appends lines for the user to notes."""
    from vtrace.transform.external_data import read_external
    from vtrace.transform.recordings.archive import digest_of, left_out
    from vtrace.transform.recordings.beside import external_data
    from vtrace.transform.recordings.reading import is_recording, read_recordings

    if not is_recording(path):
        yield read_external(path)
        return
    (recording,) = read_recordings([path], console)
    yield from external_data(trace, recording, digest_of(path))
    notes += [*recording.notes, *left_out(recording)]
    if recording.remarks:
        notes.append(f"{path.name}: {some(len(recording.remarks), 'remark')} left out")
