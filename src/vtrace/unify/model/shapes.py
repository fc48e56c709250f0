# SPDX-License-Identifier: BSD-3-Clause
"""Checks the values of a definition against the schema."""

from __future__ import annotations

from typing import Any

from vtrace.io.local.records import DEFINITION_VALUES, DEFINITIONS, ID_MAX

_TYPES: dict[str, dict[type, Any]] = {
    "id": {int: range(ID_MAX + 1)}, "u8": {int: range(1 << 8)}, "u32": {int: range(1 << 32)},
    "u64": {int: range(1 << 64)}, "int": {int: range(-(1 << 63), 1 << 64)}, "text": {str: None}, "list": {list: None},
    "bytes": {bytes: None}, "u32[]": {bytes: None}, "u64[]": {bytes: None}, "bool": {bool: None},
}  # fmt: skip
"""By type of the schema: for each type of a value a container of the allowed values; None: all values are allowed."""
_PROPERTY_NUMBER = DEFINITIONS["PROPERTY"]
_NAMES = {number: name for name, number in DEFINITIONS.items()}


def _choices(text: str) -> dict[type, Any]:
    """Like _TYPES, for the type of a value of the schema: alternatives, ranges, letters and numbers, with ? for nil."""
    found: dict[type, Any] = {type(None): None} if text.endswith("?") else {}
    for one in text.removesuffix("?").split("|"):
        first, _, last = one.partition("..")
        if one.startswith("'"):
            found[str] = {*found.get(str, ()), one.strip("'")}
        elif last:
            found[int] = range(int(first), int(last) + 1)
        elif one.isdigit():
            found[int] = {*found.get(int, ()), int(one)}
        else:
            found |= _TYPES[one]
    return found


_CHOICES = {DEFINITIONS[name]: [_choices(v.type) for v in values] for name, values in DEFINITION_VALUES.items()}
_MAY_LACK_LAST = {DEFINITIONS[name] for name, values in DEFINITION_VALUES.items() if values[-1].is_later}


def fits(array: list[Any]) -> str | None:
    """The kind of a decoded definition; None if its values do not fit the kind."""
    number, *values = array
    choices = _CHOICES.get(number, [])
    if number in _MAY_LACK_LAST and len(values) == len(choices) - 1:
        values.append(None)
    if len(values) != len(choices) or not choices:
        return None
    for value, choice in zip(values, choices, strict=True):
        allowed = choice.get(type(value), ())
        if allowed is not None and value not in allowed:
            return None
    if number == _PROPERTY_NUMBER and not _fits_property(*values):
        return None
    return _NAMES[number]


def fits_plain(array: list[Any]) -> bool:
    """Returns True for a property whose value is one word. The check is quick: most definitions are such properties."""
    return (
        len(array) == 3
        and array[0] == _PROPERTY_NUMBER
        and type(array[1]) is type(array[2]) is str
        and array[1] != "command"
    )


def _fits_property(name: str, value: Any) -> bool:
    words = isinstance(value, list)
    return words == (name == "command") and (not words or all(isinstance(word, str) for word in value))
