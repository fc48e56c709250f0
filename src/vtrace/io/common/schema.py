# SPDX-License-Identifier: BSD-3-Clause
"""The schema of the local files and of the C structures, as libvtrace-transcode.so states it.

csrc/otf2_writer/schema.h describes the text; csrc/core/format.h is the source of the facts about the files.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from vtrace.errors import VtraceError
from vtrace.paths import LIB

Prototypes = Mapping[str, tuple[Any, list[Any]]]
"""Result and arguments of functions by name."""

_CTYPES: dict[str, Any] = {
    "u1": ctypes.c_uint8, "u2": ctypes.c_uint16, "u4": ctypes.c_uint32, "u8": ctypes.c_uint64, "i4": ctypes.c_int32,
    "i8": ctypes.c_int64, "f8": ctypes.c_double, "S": ctypes.c_char, "p": ctypes.c_void_p,
}  # fmt: skip
_VALUE = re.compile(r"(\+?)(\w+)(?::([^=&]+))?(?:([=&])(\w+))?")


@cache
def library() -> ctypes.CDLL:
    """The unifier's C library. Raises VtraceError if it cannot be loaded."""
    path = LIB / "libvtrace-transcode.so"
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise VtraceError(f"cannot load {path}: {error}", "reinstall vtrace") from error


def declare(functions: ctypes.CDLL, prototypes: Prototypes, prefix: str = "") -> None:
    """Sets the prototypes of functions of a library. prefix: of the symbols; the library's attributes lack it."""
    for name, (result, arguments) in prototypes.items():
        function = functions[prefix + name]  # an item, unlike an attribute, is an object that no other module has
        function.restype, function.argtypes = result, arguments
        setattr(functions, name, function)


class Value(NamedTuple):
    """A value in a record's payload or in a definition."""

    name: str
    type: str
    """"" for a number."""
    names: str
    """The enumeration of the value's names (vt_lost, OTF2_LockType), or ""."""
    is_flags: bool
    """True if each bit has a name."""
    is_later: bool
    """A later version added it, so it may be missing."""


class Kind(NamedTuple):
    """A kind of record."""

    number: int
    words: int
    classes: int
    refers_to: str | None
    """The kind of object that the id refers to: "comm", "region" ...; None: there is no id."""
    payload: tuple[tuple[Value, ...], ...]
    """For each word its value, or the values of its low and high half."""


class _Field(NamedTuple):
    name: str
    type: str
    offset: int
    size: int


class Schema:
    """The facts that one function of the library serves, by name, and the structures as types of numpy and ctypes."""

    def __init__(self, function: str) -> None:
        """Raises VtraceError if the library cannot be loaded."""
        self.constants: dict[str, int] = {}
        self.texts: dict[str, bytes] = {}
        self.enumerations: dict[str, dict[str, int]] = {}
        self.kinds: dict[str, Kind] = {}
        self.definitions: dict[str, tuple[Value, ...]] = {}
        self._fields: dict[str, list[_Field]] = {}
        for line in _served(function).splitlines():
            self._add(*line.split("\t"))

    def _add(self, what: str, name: str, *words: str) -> None:
        match what:
            case "constant":
                self.constants[name] = int(words[0])
            case "text":
                self.texts[name] = bytes.fromhex(words[0])
            case "enumerator":
                self.enumerations.setdefault(name, {})[words[0]] = int(words[1])
            case "kind":
                number, count, classes, refers_to, payload = words
                values = tuple(tuple(_value(part) for part in word.split("/")) for word in payload.split())
                refers = None if refers_to == "NONE" else refers_to
                self.kinds[name] = Kind(int(number), int(count), classes=int(classes), refers_to=refers, payload=values)
            case "definition":
                self.definitions[name] = tuple(map(_value, words[0].split()))
            case "field":
                self._fields.setdefault(name, []).append(_Field(words[0], words[1], int(words[2]), int(words[3])))

    def dtype(self, structure: str) -> np.dtype[Any]:
        """A structure for numpy; characters and arrays of bytes are one value each."""
        return np.dtype([(field.name, *self._numpy(field)) for field in self._fields[structure]])

    def _numpy(self, field: _Field) -> tuple[Any, ...]:
        if field.type in self._fields:
            return (self.dtype(field.type),)
        if field.type == "S" or (field.type == "u1" and field.size > 1):
            return (f"{'S' if field.type == 'S' else 'V'}{field.size}",)
        count = field.size // int(field.type[1])
        return (f"<{field.type}",) if count == 1 else (f"<{field.type}", count)

    def structure(self, name: str) -> type[ctypes.Structure]:
        """A structure for ctypes. The field `from` is from_: the name is a keyword of Python."""
        fields = [(f"{f.name}_" if f.name == "from" else f.name, _ctype(f)) for f in self._fields[name]]
        return type(name, (ctypes.Structure,), {"_fields_": fields})

    def pointed(self, structure: str) -> dict[str, np.dtype[Any]]:
        """The types of the numbers in the arrays that a structure points to, by field."""
        fields = self._fields[structure]
        return {field.name: np.dtype(f"<{field.type[1:]}") for field in fields if len(field.type) == 3}


def _ctype(field: _Field) -> Any:
    kind = _CTYPES[field.type if field.type in _CTYPES else "p"]
    count = field.size // ctypes.sizeof(kind)
    return kind if count == 1 else kind * count


def _value(text: str) -> Value:
    found = _VALUE.fullmatch(text)
    assert found is not None, f"{text} is not a value of the schema"
    later, name, kind, sign, names = found.groups("")
    return Value(name, kind, names=names, is_flags=sign == "&", is_later=later == "+")


def _served(function: str) -> str:
    serve = library()[function]
    serve.restype, serve.argtypes = ctypes.c_size_t, [ctypes.c_char_p, ctypes.c_size_t]
    size = serve(None, 0)
    text = ctypes.create_string_buffer(size + 1)
    serve(text, len(text))
    return text.value.decode()
