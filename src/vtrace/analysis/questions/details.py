# SPDX-License-Identifier: BSD-3-Clause
"""The details of a batch by kind of event, with named columns."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from vtrace.analysis.table import Array
from vtrace.io.archive.batches import Batch
from vtrace.io.archive.definitions import UNDEFINED
from vtrace.io.archive.reader_abi import event_kinds


@cache
def number(kind: str) -> int:
    """The number of a kind of event in columns, by OTF2's name."""
    return event_kinds()[kind][0]


@cache
def _mask(kinds: tuple[str, ...]) -> Array:
    mask = np.zeros(len(event_kinds()), bool)
    mask[[number(kind) for kind in kinds]] = True
    return mask


def are(kinds: Array, *names: str) -> Array:
    """A mask of numbers of kinds: True for those with these names. numpy.isin takes ten times as long for few rows."""
    found: Array = _mask(names)[kinds]
    return found


def chosen(batch: Batch, kind: str) -> dict[str, Array]:
    """The events of a kind with details, as copies of columns of one length.

    Columns: time (ns), ref (OTF2's id), region, caller (uint32 rows of regions: the innermost call and the call around
    it; 2**32 - 1: none), row, marks (of all open calls, see activity.marks), and the values of the kind by their names.
    """
    rows = batch.details.compress(batch.details["kind"] == number(kind))  # ten times as fast as [mask]
    found = {name: rows[name] for name in ("row", "ref", "region", "caller", "node", "marks")}
    found["time"] = batch.time[rows["row"]]
    for place, name in enumerate(event_kinds()[kind][2]):
        found[name] = rows["words"][:, place]
    return found


def present(batch: Batch, *kinds: str) -> Iterator[tuple[str, dict[str, Array]]]:
    """The kinds of the batch, each with its chosen()."""
    for kind in kinds:
        if batch.has(number(kind)):
            yield kind, chosen(batch, kind)


def known_bytes(values: Array) -> tuple[Array, Array]:
    """Numbers of bytes (uint64) as int64, and a mask of unknown ones, which become 0: OTF2's 2**64 - 1, and impossible
    sizes."""
    unknown = values >= np.uint64(1 << 62)
    return np.where(unknown, np.uint64(0), values).astype(np.int64), unknown


def region_rows(values: Array) -> Array:
    """The column region or caller of details as int64, -1 for none."""
    return np.where(values == UNDEFINED, -1, values.astype(np.int64))
