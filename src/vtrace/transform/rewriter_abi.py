# SPDX-License-Identifier: BSD-3-Clause
"""The structures and functions of csrc/otf2_rewriter."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import NamedTuple

import _otf2

from vtrace.errors import VtraceError
from vtrace.io.archive.reader_abi import readback
from vtrace.io.common.schema import Prototypes, Schema, declare

_u32, _u64 = ctypes.c_uint32, ctypes.c_uint64
_pointer, _text, _int = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int

_SCHEMA = Schema("vt_rewriter_schema")
EVENT = _SCHEMA.dtype("vt_copied_event")
RewriteFields = _SCHEMA.structure("vt_rewrite")
ExternalLines = _SCHEMA.structure("vt_external_lines")
FIELDS = _SCHEMA.enumerations["field"]
"""The uses of columns of external data, by name."""
Ask = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32)
"""vt_rewrite.ask."""
UNKNOWN_DEFINITION = _SCHEMA.constants["COPY_UNKNOWN"]
COUNTER, SECTION = (_SCHEMA.constants[f"COPY_{name}"] for name in ("COUNTER", "SECTION"))
NO_MEMORY, LARGE_ID, INTERCOMM = (_SCHEMA.constants[f"COPY_{name}"] for name in ("NO_MEMORY", "LARGE_ID", "INTERCOMM"))

_OWN: Prototypes = {
    "vt_copy_find": (_int, [_text, _text, ctypes.c_size_t]),
    "vt_copy_new": (_pointer, []),
    "vt_copy_free": (None, [_pointer]),
    "vt_copy_callbacks": (_pointer, []),
    "vt_copy_callbacks_free": (None, [_pointer]),
    "vt_copy_failed": (_int, [_pointer]),
    "vt_copy_kind": (_text, [_u32]),
    "vt_copy_record": (_text, [_u32]),
    "vt_copy_locations": (None, [_pointer, _pointer, _pointer, _pointer, _u64]),
    "vt_copy_drop_property": (None, [_pointer, _u32]),
    "vt_copy_mark_all": (None, [_pointer, _u32, _pointer, _u64]),
    "vt_copy_close": (_int, [_pointer]),
    "vt_copy_number": (_u32, [_pointer, _u32, _u32]),
    "vt_copy_words": (_pointer, [_pointer, ctypes.POINTER(_u64)]),
    "vt_copy_texts": (None, [_pointer, ctypes.POINTER(_text), _pointer, _u64]),
    "vt_copy_write": (ctypes.c_int32, [_pointer, _pointer, _pointer]),
    "vt_rewrite_find": (_int, [_text, _text, ctypes.c_size_t]),
    "vt_rewrite_new": (ctypes.POINTER(RewriteFields), [_pointer]),
    "vt_rewrite_free": (None, [_pointer]),
    "vt_rewrite_callbacks": (_pointer, []),
    "vt_rewrite_event": (_text, [_u32]),
    "vt_rewrite_end": (None, [_pointer]),
    "vt_external_read": (_int, [_pointer]),
    "vt_lanes": (_u64, [_pointer, _pointer, _pointer, _u64, _u64]),
    "vt_lanes_find": (_int, [_text, _text, ctypes.c_size_t]),
    "vt_write_calls": (ctypes.c_int32, [*[_pointer] * 4, _u64, _int, _pointer, _pointer, _u32]),
    "vt_write_values": (ctypes.c_int32, [_pointer, _pointer, _pointer, _pointer, _u64, _u32, _u32]),
}


class CopiedValue(NamedTuple):
    """A value of a definition or event: its use (definitions.h, otf2_events.h), C type and kind."""

    use: str
    type: str
    kind: str


class CopiedKind(NamedTuple):
    """A kind of event. paired: the first pass returns such events."""

    number: int
    paired: bool
    values: tuple[CopiedValue, ...]


@cache
def rewriter() -> ctypes.CDLL:
    """The rewriter's library with its prototypes. Raises VtraceError."""
    found = readback()
    declare(found, _OWN)
    text = ctypes.create_string_buffer(256)
    path = _otf2.Config.lib_path().encode()
    finders = found.vt_copy_find, found.vt_rewrite_find, found.vt_lanes_find
    if any(find(path, text, len(text)) for find in finders):
        raise VtraceError(f"cannot use OTF2: {text.value.decode('utf-8', 'replace')}", "reinstall the otf2 package")
    return found


@cache
def definition_kinds() -> dict[str, int]:
    """The numbers of the kinds of definitions, by OTF2's names."""
    own = rewriter()
    found: dict[str, int] = {}
    while text := own.vt_copy_kind(len(found)):
        found[text.decode()] = len(found)
    return found


@cache
def records() -> dict[str, tuple[CopiedValue, ...]]:
    """The values of each definition, by OTF2's name."""
    own, number = rewriter(), 0
    found: dict[str, tuple[CopiedValue, ...]] = {}
    while text := own.vt_copy_record(number):
        name, _, values = text.decode().partition(":")
        found[name] = _values(values)
        number += 1
    return found


@cache
def copied_events() -> dict[str, CopiedKind]:
    """All kinds of events, by OTF2's name."""
    own, number = rewriter(), 0
    found: dict[str, CopiedKind] = {}
    while text := own.vt_rewrite_event(number):
        name, _, values = text.decode().partition(":")
        found[name.removeprefix("*")] = CopiedKind(number, name.startswith("*"), _values(values))
        number += 1
    return found


def _values(text: str) -> tuple[CopiedValue, ...]:
    words = text.split()
    return tuple(CopiedValue(*words[i : i + 3]) for i in range(0, len(words), 3))
