# SPDX-License-Identifier: BSD-3-Clause
"""Finds the tiles of an archive, or builds them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from vtrace.analysis.question import AnyQuestion
from vtrace.console import Console
from vtrace.errors import FormatError, TileDamageError, VtraceError
from vtrace.io import sidecar, tile_file
from vtrace.io.tile_file import TileFile
from vtrace.timeline.bands import Bands, band_table
from vtrace.timeline.bundles import Bundles, bundle_table
from vtrace.timeline.counter_bins import CounterBins, are_few, counter_table
from vtrace.timeline.large_data import is_large
from vtrace.timeline.sample_store import all_samples, has_samples, sample_table
from vtrace.timeline.tiles import TileBuilder

if TYPE_CHECKING:
    from vtrace.analysis.source import Source


def tiles_of(trace: Source, console: Console) -> TileFile:
    """The tiles of an archive: those beside it, or in the user's cache; else they are built, with progress. A file that
    does not fit is built anew, after one line. Raises VtraceError."""
    of = sidecar.identity(trace.anchor, trace.properties)
    for folder in _folders(trace, of):
        try:
            if (found := TileFile.open(folder, of)) is not None:
                trace.problems += [line for line in found.problems if line not in trace.problems]
                return found
        except FormatError as error:
            console.note(f"{error}: made anew")
    return _built(trace, of, console)


def remade(trace: Source, console: Console, error: TileDamageError) -> TileFile:
    """New tiles in place of those in which an error was found. Raises VtraceError."""
    console.note(f"{error}: made anew")
    return _built(trace, sidecar.identity(trace.anchor, trace.properties), console)


def _folders(trace: Source, of: str) -> tuple[Path, Path]:
    """The archive's directory, and the place for archives in directories that cannot be written."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return trace.anchor.parent, Path(cache, "vtrace", f"archive-{of}")


def _built(trace: Source, of: str, console: Console) -> TileFile:
    events = int(trace.locations["events"].sum())
    before = list(trace.problems)
    with tempfile.TemporaryFile() as scratch:
        with console.steps("reading events", events, "events") as advance:
            builder, bundles, bands = TileBuilder(trace, scratch, advance), Bundles(), Bands()
            large = is_large(trace)
            counters = CounterBins() if large and are_few(trace) else None
            samples = all_samples(trace) if large and has_samples(trace) else None
            optional: list[AnyQuestion] = [each for each in (counters, samples) if each]
            questions: list[AnyQuestion] = [builder, bundles, bands, *optional]
            trace.scan(questions, builder.groups.order, in_order=True)
        index, problems = builder.answer(), [line for line in trace.problems if line not in before]
        tables = {
            "bundles": bundle_table(bundles.answer()), "bands": band_table(bands.answer()),
            "counters": counter_table(counters.answer() if counters else None), "samples": sample_table(samples),
        }  # fmt: skip
        parts = index, scratch, trace.regions.classes, problems, tables
        folder, cache = _folders(trace, of)
        try:
            tile_file.write(folder, of, *parts)
        except VtraceError as error:
            tile_file.write(cache, of, *parts)
            folder = cache
            console.note(f"{error}: the tiles of the timeline are in {cache / sidecar.FOLDER}")
    found = TileFile.open(folder, of)
    assert found is not None
    return found
