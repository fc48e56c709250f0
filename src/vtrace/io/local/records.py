# SPDX-License-Identifier: BSD-3-Clause
"""The facts of csrc/core/format.h under its names without VT_: NO_RANK, CLASS_MESSAGE, CHUNK_SIZE ...

Names that no line here sets are the constants that csrc/otf2_writer/schema.c lists.
"""

from __future__ import annotations

import ctypes
from typing import Final

from vtrace.io.common.schema import Schema, Value, declare, library

_u64 = ctypes.c_uint64
SCHEMA: Final = Schema("vt_kernel_schema")
_ENUMERATIONS = SCHEMA.enumerations
declare(library(), {"vt_kernel_checksum": (_u64, [_u64, ctypes.c_char_p, _u64])})

FILE_MAGIC: Final = SCHEMA.texts["FILE_MAGIC"]
BLOCK_MAGIC: Final = SCHEMA.texts["BLOCK_MAGIC"]
globals().update(SCHEMA.constants)
for _prefix, _enumeration in {"CLASS": "vt_class", "CHUNK": "vt_chunk_state", "CODEC": "vt_codec"}.items():
    globals().update({f"{_prefix}_{name}": number for name, number in _ENUMERATIONS[_enumeration].items()})
CLOCK_TSC, CLOCK_CNTVCT, CLOCK_NANOSECONDS = _ENUMERATIONS["vt_clock_kind"].values()
EVENTS, DEFINITION_DATA, BUFFER = _ENUMERATIONS["vt_content"].values()
"""Values of content. Chunks and blocks with samples have SAMPLES, which as content of a file is BUFFER."""

KINDS: Final = {name: (kind.number, kind.words, kind.classes) for name, kind in SCHEMA.kinds.items()}
"""name -> (number, payload words, class)."""
PAYLOAD: Final = {name: kind.payload for name, kind in SCHEMA.kinds.items()}
REFERS_TO: Final = {name: kind.refers_to for name, kind in SCHEMA.kinds.items() if kind.refers_to}
"""The kind of object that the id refers to, for kinds of records with an id."""
DEFINITIONS: Final = _ENUMERATIONS["vt_definition"]
DEFINITION_VALUES: Final[dict[str, tuple[Value, ...]]] = SCHEMA.definitions
LOST_REASONS: Final = {number: name for name, number in _ENUMERATIONS["vt_lost"].items()}
GAP_REASONS: Final = {number: name for name, number in _ENUMERATIONS["vt_gap_reason"].items()}
"""More reasons why a location did not record."""
MARKERS: Final = _ENUMERATIONS["vt_marker"]
COMM_KINDS: Final = _ENUMERATIONS["vt_comm_kind"]
IO_PARADIGMS: Final = _ENUMERATIONS["vt_io_paradigm"]

CLOCK_PAIR: Final = SCHEMA.dtype("vt_clock_pair")
FILE: Final = SCHEMA.dtype("vt_file")
CHUNK: Final = SCHEMA.dtype("vt_chunk")
BLOCK: Final = SCHEMA.dtype("vt_block")
COLUMNS: Final = SCHEMA.dtype("vt_columns")
PROFILE_ROW: Final = SCHEMA.dtype("vt_profile_row")


def __getattr__(name: str) -> int:
    """Tells type checkers that all other names are numbers; globals() has those that exist."""
    raise AttributeError(f"format.h has no constant VT_{name}, or csrc/otf2_writer/schema.c does not list it")


def what(kind: str, identifier: int = 0) -> int:
    """The lower half of a record's first word: kind, number of payload words and id."""
    number, words, _ = KINDS[kind]
    return number << 24 | words << 21 | identifier


def checksum(seed: int, data: bytes) -> int:
    """vt_checksum of format.h: 64 bits over data, continued from seed."""
    return int(library().vt_kernel_checksum(seed, data, len(data)))


def block_checksum(head: bytes, stored: bytes) -> int:
    """The checksum that belongs into a block's head of BLOCK.itemsize bytes."""
    at = int(BLOCK.fields["checksum"][1])  # type: ignore[index]
    return checksum(checksum(0, head[:at] + bytes(8) + head[at + 8 :]), stored)
