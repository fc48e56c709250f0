# SPDX-License-Identifier: BSD-3-Clause
"""The tables of csrc/core/format.h in Markdown, for docs/file-format.md: records, definitions, enumerations."""

from __future__ import annotations

from collections.abc import Iterable

from vtrace.io.common.schema import Value
from vtrace.io.local.records import DEFINITION_VALUES, DEFINITIONS, SCHEMA

_NO_TABLE = {"vt_definition", "vt_result", "vt_gap_reason", "vt_frame_kind"}
"""Enumerations without a row: the table of definitions has the first, and local files have no numbers of the others."""


def records() -> str:
    """The kinds of records: number, the object that the id refers to, payload, classes."""
    bits = {number: name for name, number in SCHEMA.enumerations["vt_class"].items()}
    return _table(
        ("kind", "number", "id", "payload", "classes"),
        (
            (
                f"`{name}`", str(kind.number), kind.refers_to or "",
                ", ".join(f"`{'/'.join(map(_text, word))}`" for word in kind.payload),
                ", ".join(text for bit, text in bits.items() if kind.classes & bit),
            )
            for name, kind in SCHEMA.kinds.items()
        ),
    )  # fmt: skip


def definitions() -> str:
    """The kinds of definitions: number and values."""
    return _table(
        ("definition", "number", "values"),
        (
            (f"`{name}`", str(DEFINITIONS[name]), ", ".join(f"`{_text(value)}`" for value in values))
            for name, values in DEFINITION_VALUES.items()
        ),
    )


def enumerations() -> str:
    """The enumerations that records, definitions and heads use."""
    return _table(
        ("enumeration", "values"),
        (
            (f"`{name}`", ", ".join(f"{number:#x} {value}" if name == "vt_class" else f"{number} {value}"
                                    for value, number in values.items()))
            for name, values in SCHEMA.enumerations.items() if name not in _NO_TABLE
        ),
    )  # fmt: skip


def _text(value: Value) -> str:
    """The value as format.h writes it."""
    kind = f":{value.type}" if value.type else ""
    names = f"{'&' if value.is_flags else '='}{value.names}" if value.names else ""
    return f"{'+' if value.is_later else ''}{value.name}{kind}{names}"


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)
