# SPDX-License-Identifier: BSD-3-Clause
"""VT_GNU_NMFILE: reads the names of an executable's functions from the output of nm (guide, Table 4.5)."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from vtrace.io.local.heads import open_file

_LINE = re.compile(
    r"(?P<address>[0-9a-fA-F]{1,16}) (?P<type>[TtWwi]) (?P<name>[^\t\n]+)(?:\t(?P<file>.+):(?P<line>\d+))?\r?\n?"
)


class Listed(NamedTuple):
    """A function of the list: address as linked, name, file and line of its beginning (None, 0 if unknown)."""

    address: int
    name: str
    file: str | None
    line: int


def read_nm(path: Path) -> list[Listed]:
    """The functions in the output of `nm --demangle --line-numbers`, one per address, by address. Raises OSError."""
    found: dict[int, tuple[int, Listed]] = {}
    with open_file(path) as stream:
        for raw in stream:
            match = _LINE.fullmatch(raw.decode(errors="replace"))
            if not match:
                continue
            address, rank = int(match["address"], 16), "TWwti".index(match["type"])
            if address not in found or rank < found[address][0]:
                found[address] = rank, Listed(address, match["name"], match["file"], int(match["line"] or 0))
    return [listed for _, (_, listed) in sorted(found.items())]


def at_or_before(functions: Sequence[Listed], addresses: Iterable[int]) -> Iterator[tuple[int, Listed]]:
    """Each address with the last function of the list at or before it; without addresses before the first function."""
    for address in addresses:
        i = bisect_right(functions, address, key=lambda listed: listed.address) - 1
        if i >= 0:
            yield address, functions[i]


def nm_files(processes: Iterable[Mapping[str, object]]) -> dict[str, Path]:
    """Path of an executable -> path of its nm output. processes: properties of each process, with the recorded setting;
    the environment of vtunify overrides the setting."""
    own = os.environ.get("VT_GNU_NMFILE")
    found = {}
    for known in processes:
        path = own or known.get("setting.VT_GNU_NMFILE")
        if path and known.get("executable"):
            found[str(known["executable"])] = Path(str(path))
    return found
