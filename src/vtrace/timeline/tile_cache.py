# SPDX-License-Identifier: BSD-3-Clause
"""Finds the tiles of an archive, or builds them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from vtrace.analysis.selection import Selection
from vtrace.analysis.shared_scan import ask
from vtrace.console import Console
from vtrace.errors import FormatError, TileDamageError, VtraceError
from vtrace.io.packed.opened import packed_of
from vtrace.io.sidecar import sidecar
from vtrace.io.sidecar.tile_file import TileFile
from vtrace.timeline.tile_pass import TilePass, scratch_file

if TYPE_CHECKING:
    from vtrace.analysis.source import Source


def tiles_of(trace: Source, console: Console, beside: bool = False) -> TileFile:
    """The tiles of an archive, from beside the archive or from the user's cache; else builds the tiles and shows
    progress. Prints one line for tiles that do not fit the archive. beside: ignores the cache, which other users do not
    have. Raises VtraceError."""
    of = sidecar.identity(trace.anchor, trace.properties)
    unfit: list[FormatError] = []
    for folder in _folders(trace, of)[: 1 if beside else None]:
        try:
            if (found := TileFile.open(folder, of)) is not None:
                trace.problems += [line for line in found.problems if line not in trace.problems]
                for each in unfit:
                    console.note(f"{each}: the tiles in {folder / sidecar.FOLDER} are used")
                return found
        except FormatError as error:
            unfit.append(error)
    for each in unfit:
        console.note(f"{each}: rebuilding the tiles")
    return _built(trace, of, console)


def rebuilt(trace: Source, console: Console, error: TileDamageError) -> TileFile:
    """Builds new tiles in place of damaged ones. Raises VtraceError."""
    console.note(f"{error}: rebuilding the tiles")
    return _built(trace, sidecar.identity(trace.anchor, trace.properties), console)


def _folders(trace: Source, of: str) -> tuple[Path, Path]:
    """The archive's directory, and the directory in the user's cache for archives in read-only directories; for packed
    archives only the latter."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    found = Path(cache, "vtrace", f"archive-{of}")
    return found if packed_of(trace.anchor) else trace.anchor.parent, found


def _built(trace: Source, of: str, console: Console) -> TileFile:
    try:
        folder = _build(trace, of, console)
    except OSError as error:
        where = tempfile.gettempdir()
        raise VtraceError(
            f"no room for the tiles of the timeline in {where}: {error.strerror}", "set TMPDIR to another directory"
        ) from error
    found = TileFile.open(folder, of)
    assert found is not None
    return found


def _build(trace: Source, of: str, console: Console) -> Path:
    """Builds the tiles, and returns the directory with their folder. Raises OSError if the directory for temporary
    files has no room, and VtraceError."""
    events = int(trace.locations["events"].sum())
    before = list(trace.problems)
    with scratch_file() as scratch:
        with console.steps("reading events", events, "events") as advance:
            tiles = TilePass(trace, scratch, advance)
            order = Selection.of(locations=tiles.builder.groups.order)
            ask(trace, tiles.questions, order, in_order=True, whole=tiles.whole)
        problems = [line for line in trace.problems if line not in before]
        folder, cache = _folders(trace, of)
        try:
            tiles.write(folder, of, problems)
        except VtraceError as error:
            tiles.write(cache, of, problems)
            folder = cache
            console.note(f"{error}: the tiles of the timeline are in {cache / sidecar.FOLDER}")
    return folder
