# SPDX-License-Identifier: BSD-3-Clause
"""Sends requests to the site of vtrace view like its page, without a server."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import vtrace
from vtrace.analysis.selection import Selection
from vtrace.console import Console
from vtrace.timeline.answers import Content
from vtrace.timeline.tile_cache import tiles_of
from vtrace.timeline.viewer_site import VERSION, ShownTrace, ViewerSite


@dataclass
class PageTable:
    """A table of the protocol: columns as lists, and notes."""

    columns: dict[str, list[Any]]
    notes: dict[str, Any]


def decoded(data: bytes) -> PageTable:
    """The table in bytes of the protocol."""
    assert data[:4] == b"VTW1"
    size = int.from_bytes(data[4:8], "little")
    assert size % 8 == 0
    head = json.loads(data[8 : 8 + size])
    columns = {
        name: np.frombuffer(data, f"<{kind}", rows, 8 + size + offset).tolist()
        for name, kind, rows, offset in head["columns"]
    }
    return PageTable(columns, head["notes"])


class Asked:
    """The site of some archives, which answers without a server."""

    def __init__(self, *archives: Path) -> None:
        self.site = ViewerSite([partial(_shown, archive) for archive in archives])

    def content(self, name: str, /, **words: object) -> bytes:
        query = {key: str(value) for key, value in ({"trace": 0} | words).items()}
        found = self.site.answer(VERSION + name, query, lambda: True)
        assert isinstance(found, Content)
        return found.data

    def table(self, name: str, /, **words: object) -> PageTable:
        return decoded(self.content(name, **words))

    def json(self, name: str, /, **words: object) -> Any:
        return json.loads(self.content(name, **words))


def _shown(archive: Path) -> ShownTrace:
    trace = vtrace.open(archive)
    tiles = tiles_of(trace, Console("vtrace", 0))
    return ShownTrace(trace=trace, part=Selection(), tiles=tiles, title=archive.name, command=f"vtrace view {archive}")
