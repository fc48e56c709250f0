# SPDX-License-Identifier: BSD-3-Clause
"""Tables: columns of equal length."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from vtrace.io.common.arrays import Array as Array
from vtrace.text import html_text

__all__ = ["Table"]

_SHOWN = 20


class Table(Mapping[str, Array]):
    """Columns by name, numpy arrays of one length; len() is the number of columns, rows the number of rows.

    table["calls"] and table.calls are the same column.
    """

    def __init__(self, columns: Mapping[str, Any], **notes: Any) -> None:
        """columns: name -> array. notes: facts about the whole table, which become attributes."""
        self._columns = {name: np.asarray(column) for name, column in columns.items()}
        lengths = {len(column) for column in self._columns.values()}
        if len(lengths) > 1:
            raise ValueError(f"columns of different lengths: {sorted(lengths)}")
        self.rows = lengths.pop() if lengths else 0
        """The number of rows."""
        self.notes = notes

    def __getitem__(self, name: str) -> Array:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __getattr__(self, name: str) -> Any:
        for place in ("_columns", "notes"):
            found = self.__dict__.get(place, {})
            if name in found:
                return found[name]
        raise AttributeError(name)

    def records(self) -> Iterator[dict[str, Any]]:
        """The rows as dictionaries, one after the other, with plain Python values."""
        lists = [column.tolist() for column in self._columns.values()]
        for values in zip(*lists, strict=True):
            yield dict(zip(self._columns, values, strict=True))

    def take(self, rows: Any) -> Table:
        """A table of some rows: a mask, numbers or a slice."""
        return Table({name: column[rows] for name, column in self._columns.items()}, **self.notes)

    def order(self, column: str, descending: bool = True) -> Table:
        """The rows ordered by a column; equal values keep their order."""
        values = self._columns[column]
        if not descending:
            return self.take(np.argsort(values, kind="stable"))
        return self.take(self.rows - 1 - np.argsort(values[::-1], kind="stable")[::-1])

    def frame(self) -> Any:
        """A pandas.DataFrame of the same columns. Raises VtraceError without pandas."""
        return pandas().DataFrame(self._columns)

    def _repr_html_(self) -> str:
        """HTML for notebooks: the caveats, and the first rows. Names are escaped."""
        head = "".join(f"<th>{html_text(str(name))}</th>" for name in self._columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html_text(str(value))}</td>" for value in row.values()) + "</tr>"
            for row in self.take(slice(_SHOWN)).records()
        )
        more = f"<p>{self.rows:,} rows</p>" if self.rows > _SHOWN else ""
        above = caveats_html(self.notes.get("caveats", []))
        return f"{above}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

    def __repr__(self) -> str:
        return f"Table({self.rows} rows: {', '.join(self._columns)})"


def caveats_html(lines: Collection[str]) -> str:
    """A list of lines above the numbers, as HTML; "" without lines."""
    return f"<ul>{''.join(f'<li>{html_text(line)}</li>' for line in lines)}</ul>" if lines else ""


def pandas() -> Any:
    """The module pandas. Raises VtraceError where it is not installed."""
    try:
        import pandas as module
    except ImportError as error:
        from vtrace.errors import VtraceError

        raise VtraceError("pandas is not installed", "pip install 'vtrace-otf2[pandas]'") from error
    return module


def texts(values: Any) -> Array:
    """A column of text."""
    column = np.empty(len(values), object)
    column[:] = values
    return column


def joined(parts: Collection[Array], kind: Any) -> Array:
    """Arrays of one structured type as one array. numpy.concatenate is slower: it compares the types of each pair."""
    found: Array = np.empty(sum(map(len, parts)), kind)
    begin = 0
    for part in parts:
        found[begin : begin + len(part)] = part
        begin += len(part)
    return found


def stack(parts: Sequence[Mapping[str, Any]], like: Mapping[str, Any], **notes: Any) -> Table:
    """A table of the rows of all parts. like: name -> dtype, needed without parts."""
    found = {
        name: np.concatenate([np.asarray(part[name]) for part in parts]).astype(kind) if parts else np.empty(0, kind)
        for name, kind in like.items()
    }
    return Table(found, **notes)


def group(keys: list[Array]) -> tuple[Array, Array]:
    """Groups rows with equal keys: the first row of each group, in the order of the keys, and the group of each row."""
    rows = len(keys[0])
    if not rows:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    order = np.lexsort(keys[::-1])
    changed = np.zeros(rows, bool)
    changed[0] = True
    for key in keys:
        ordered = key[order]
        changed[1:] |= ordered[1:] != ordered[:-1]
    member = np.empty(rows, np.int64)
    member[order] = np.cumsum(changed) - 1
    return order[changed], member


def add_up(member: Array, values: Any, groups: int) -> Array:
    """(groups,) int64: the sum of the values of each group's rows."""
    sums = np.zeros(groups, np.int64)
    np.add.at(sums, member, values)
    return sums
