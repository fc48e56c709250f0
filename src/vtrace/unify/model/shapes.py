# SPDX-License-Identifier: BSD-3-Clause
"""What the values of each definition may be."""

from __future__ import annotations

from typing import Any

from vtrace.io.local.records import DEFINITIONS, ID_MAX, LOST_MOST

_ID = range(ID_MAX + 1)
_U8, _U32, _U64 = range(1 << 8), range(1 << 32), range(1 << 64)
_INT = range(-(1 << 63), 1 << 64)
_TEXT = (str, None)
_PROPERTY = (str, (str, list))
_SOME_ID, _ACCESS, _STATUS = (_ID, None), (range(5), None), (range(1 << 9), None)
_HANDLE = (_ID, str, _SOME_ID, range(1, 4), range(1 << 2), _SOME_ID, _SOME_ID, _ACCESS, _STATUS)
_SHAPES: dict[int, tuple[Any, ...]] = {
    DEFINITIONS["PROPERTY"]: _PROPERTY,
    DEFINITIONS["REGION"]: (_ID, str, _U8, _U8, _TEXT, _U32, _TEXT),
    DEFINITIONS["MODULE"]: (_U32, _U64, _U64, _U64, str, bytes, _U64),
    DEFINITIONS["MODULE_END"]: (_U32, _U64),
    DEFINITIONS["COMM"]: (_ID, _U8, (_ID, None), (_INT, str), _U64, _U64, _U32, _U32, _U32),
    DEFINITIONS["COMM_MEMBERS"]: (_ID, range(2), _U32, _U64, bytes),
    DEFINITIONS["COMM_NAME"]: (_ID, str),
    DEFINITIONS["LOCATION"]: (_U32, _U32, _TEXT, _U64),
    DEFINITIONS["METRIC"]: (_ID, str, str, ("u", "i", "f"), ("a", "p", "n"), bool),
    DEFINITIONS["CLOCK"]: (_U64, _U64, _U64),
    DEFINITIONS["SUMMARY"]: (_U32, _U64, _U64, _U64, _U64, _U64, _U64, _U64, range(LOST_MOST)),
    DEFINITIONS["ATTRIBUTE"]: (_ID, str, str, range(26)),
    DEFINITIONS["IO_FILE"]: (_ID, str),
    DEFINITIONS["IO_HANDLE"]: _HANDLE,
    DEFINITIONS["RMA_WIN"]: (_ID, _ID, _U32),
    DEFINITIONS["RMA_WIN_NAME"]: (_ID, str),
    DEFINITIONS["GROUP"]: (_ID, _ID, _U32, bytes),
    DEFINITIONS["REGION_AT"]: (_ID, str, _U8, _U8, _U64),
    DEFINITIONS["TEAM"]: (_ID, _U32, _U32, _U32, _U64),
    DEFINITIONS["LOST"]: (_U32, range(1, LOST_MOST), _U64),
    DEFINITIONS["CALL_SITE"]: (_ID, bytes),
    DEFINITIONS["CLOCK_OFFSET"]: (_U64, _U32, _U64, _U64),
    DEFINITIONS["TEXT"]: (_ID, str),
    DEFINITIONS["MARKER"]: (_ID, str, range(1, 4)),
    DEFINITIONS["NOTE"]: (str,),
    DEFINITIONS["USER_COMM"]: (_ID, str),
    DEFINITIONS["MEMBER"]: ((DEFINITIONS["REGION"], DEFINITIONS["METRIC"]), _ID, str),
}
"""What each value may be: a type, a range of whole numbers, a constant, or one of several of these. A region's last
value came later, and may be missing.
"""
_PROPERTY_NUMBER = DEFINITIONS["PROPERTY"]
_NAMES = {number: name for name, number in DEFINITIONS.items()}


def _choices(wanted: Any) -> dict[type, Any]:
    """By the type of a value what contains those that are allowed; None: all are."""
    found: dict[type, Any] = {}
    for one in wanted if isinstance(wanted, tuple) else (wanted,):
        if isinstance(one, tuple):
            found |= _choices(one)
        elif isinstance(one, range):
            found[int] = one
        elif one is None or isinstance(one, type):
            found[one or type(None)] = None
        else:
            found[type(one)] = {*found.get(type(one), ()), one}
    return found


_CHOICES = {number: [_choices(wanted) for wanted in shape] for number, shape in _SHAPES.items()}


def fits(array: list[Any]) -> str | None:
    """The kind of a decoded definition; None where its values are none of that kind."""
    number, *values = array
    choices = _CHOICES.get(number, [])
    if number == DEFINITIONS["REGION"] and len(values) == 6:
        values.append(None)
    if len(values) != len(choices) or not choices:
        return None
    for value, choice in zip(values, choices, strict=True):
        allowed = choice.get(type(value), ())
        if allowed is not None and value not in allowed:
            return None
    if number == DEFINITIONS["PROPERTY"] and not _fits_property(*values):
        return None
    return _NAMES[number]


def fits_plain(array: list[Any]) -> bool:
    """Whether a decoded definition is a property whose value is one word. Most definitions are: this check is quick."""
    return (
        len(array) == 3
        and array[0] == _PROPERTY_NUMBER
        and type(array[1]) is type(array[2]) is str
        and array[1] != "command"
    )


def _fits_property(name: str, value: Any) -> bool:
    words = isinstance(value, list)
    return words == (name == "command") and (not words or all(isinstance(word, str) for word in value))
