# SPDX-License-Identifier: BSD-3-Clause
"""Imports the files NAME-hostname-HOST.csv beside local files into the archive that vtunify has written."""

from __future__ import annotations

from pathlib import Path

from vtrace.console import Console, some
from vtrace.errors import VtraceError
from vtrace.io.common.outfile import is_foreign

_PATTERN = "*-hostname-?*.csv"


def import_beside(archive: Path, directory: Path, console: Console) -> None:
    """Adds the files of the run's hosts; warns of each file that cannot be imported, and leaves this file out."""
    paths = sorted(path for path in directory.glob(_PATTERN) if path.is_file() and not is_foreign(path))
    if not paths:
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
            if has_second_archive(trace):
                raise VtraceError(f"{path}: the samples are in a second archive", "unify without --samples=sidecar")
            made = import_data(trace, [read_external(path)], archive, console)
        except VtraceError as error:
            console.warn(f"not imported: {error}")
            continue
        for note in made.notes:
            console.warn(note)
        what = f"{some(made.intervals, 'interval')}, {some(made.values, 'value')}"
        console.result(f"{path.name}: {what} imported on {some(made.lanes, 'location')}")
