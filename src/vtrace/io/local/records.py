# SPDX-License-Identifier: BSD-3-Clause
"""The Python twin of csrc/core/format.h: layouts, numbers and the checksum (a test compares the two)."""

from __future__ import annotations

import struct
from typing import Final

import numpy as np

FORMAT_VERSION: Final = 3
FILE_MAGIC: Final = b"VTRACE\r\n"
BLOCK_MAGIC: Final = b"VTB1"

CHUNK_SIZE: Final = 65536
CHUNK_DATA: Final = 512
RAW_MAX: Final = CHUNK_SIZE - CHUNK_DATA
OPEN_MAX: Final = 32
FILE_HEAD: Final = 2048
LAST_CHUNK: Final = 4096
"""Where in chunk 0 of a buffer a shorter chunk of definitions begins."""
NO_RANK: Final = 0xFFFFFFFF
FROM_ALL: Final = 0x100
"""Of a collective operation: the process gets something from every other member."""
IO_UNKNOWN: Final = 0xFFFFFFFFFFFFFFFF
"""Bytes of an I/O operation that nobody knows."""

FUNCTION: Final = 0x80000000
FUNCTION_LEAVE: Final = 0x40000000
CODE_MASK: Final = 0x3FFFFFFF
ID_MAX: Final = 0x1FFFFF
OPEN_ADDRESS: Final = 0x8000000000000000

CLASS_FUNCTION: Final = 0x1
CLASS_NEW_CODE: Final = 0x2
CLASS_REGION: Final = 0x4
CLASS_MESSAGE: Final = 0x8
CLASS_COLLECTIVE: Final = 0x10
CLASS_THREAD: Final = 0x20
CLASS_IO: Final = 0x40
CLASS_MEMORY: Final = 0x80
CLASS_METRIC: Final = 0x100
CLASS_CONTROL: Final = 0x200
CLASS_RMA: Final = 0x400
CLASS_ATTRIBUTE: Final = 0x800
CLASS_USER: Final = 0x1000
CLASS_TEAM: Final = 0x2000
CLASS_ADDRESS: Final = CLASS_FUNCTION | CLASS_NEW_CODE
CLASS_HEAP: Final = CLASS_REGION | CLASS_MEMORY
CLASS_ALL: Final = 0xFFFFFFFF
CLASS_FIRST: Final = CLASS_FUNCTION | CLASS_NEW_CODE | CLASS_IO | CLASS_MEMORY | CLASS_METRIC | CLASS_USER
"""What VT_MAX_SIZE stops first."""

KINDS: Final[dict[str, tuple[int, int, int]]] = {
    "TIME": (1, 1, CLASS_CONTROL),
    "ENTER": (2, 0, CLASS_REGION),
    "LEAVE": (3, 0, CLASS_REGION),
    "ENTER_ADDRESS": (4, 1, CLASS_ADDRESS),
    "LEAVE_ADDRESS": (5, 1, CLASS_ADDRESS),
    "LOST": (6, 1, CLASS_CONTROL),
    "OFF": (7, 0, CLASS_CONTROL),
    "ON": (8, 0, CLASS_CONTROL),
    "FLUSH": (9, 1, CLASS_CONTROL),
    "LIMIT": (10, 1, CLASS_CONTROL),
    "THREAD": (11, 1, CLASS_THREAD),
    "SEND": (16, 2, CLASS_MESSAGE),
    "RECV": (17, 2, CLASS_MESSAGE),
    "ISEND": (18, 3, CLASS_MESSAGE),
    "ISEND_COMPLETE": (19, 1, CLASS_MESSAGE),
    "IRECV_REQUEST": (20, 1, CLASS_MESSAGE),
    "IRECV": (21, 3, CLASS_MESSAGE),
    "REQUEST_TEST": (22, 1, CLASS_MESSAGE),
    "REQUEST_CANCELLED": (23, 1, CLASS_MESSAGE),
    "COLL_BEGIN": (24, 0, CLASS_COLLECTIVE),
    "COLL_END": (25, 3, CLASS_COLLECTIVE),
    "COLL_REQUEST": (26, 1, CLASS_COLLECTIVE),
    "COLL_COMPLETE": (27, 4, CLASS_COLLECTIVE),
    "COMM_CREATE": (28, 0, CLASS_COLLECTIVE),
    "COMM_DESTROY": (29, 0, CLASS_COLLECTIVE),
    "METRIC": (40, 1, CLASS_METRIC),
    "ATTRIBUTE": (41, 1, CLASS_ATTRIBUTE),
    "RMA_WIN_CREATE": (48, 0, CLASS_RMA),
    "RMA_WIN_DESTROY": (49, 0, CLASS_RMA),
    "RMA_COLL_BEGIN": (50, 0, CLASS_RMA),
    "RMA_COLL_END": (51, 4, CLASS_RMA),
    "RMA_GROUP_SYNC": (52, 2, CLASS_RMA),
    "RMA_REQUEST_LOCK": (53, 2, CLASS_RMA),
    "RMA_ACQUIRE_LOCK": (54, 2, CLASS_RMA),
    "RMA_TRY_LOCK": (55, 2, CLASS_RMA),
    "RMA_RELEASE_LOCK": (56, 2, CLASS_RMA),
    "RMA_SYNC": (57, 1, CLASS_RMA),
    "RMA_PUT": (59, 3, CLASS_RMA),
    "RMA_GET": (60, 3, CLASS_RMA),
    "RMA_ATOMIC": (61, 4, CLASS_RMA),
    "RMA_COMPLETE_BLOCKING": (62, 1, CLASS_RMA),
    "RMA_COMPLETE_NON_BLOCKING": (63, 1, CLASS_RMA),
    "RMA_TEST": (64, 1, CLASS_RMA),
    "RMA_COMPLETE_REMOTE": (65, 1, CLASS_RMA),
    "IO_CREATE": (72, 2, CLASS_IO),
    "IO_DESTROY": (73, 0, CLASS_IO),
    "IO_DUPLICATE": (74, 1, CLASS_IO),
    "IO_SEEK": (75, 3, CLASS_IO),
    "IO_STATUS": (76, 1, CLASS_IO),
    "IO_DELETE": (77, 1, CLASS_IO),
    "IO_BEGIN": (78, 3, CLASS_IO),
    "IO_ISSUED": (79, 1, CLASS_IO),
    "IO_TEST": (80, 1, CLASS_IO),
    "IO_COMPLETE": (81, 2, CLASS_IO),
    "IO_CANCELLED": (82, 1, CLASS_IO),
    "IO_ACQUIRE_LOCK": (83, 1, CLASS_IO),
    "IO_RELEASE_LOCK": (84, 1, CLASS_IO),
    "IO_TRY_LOCK": (85, 1, CLASS_IO),
    "IO_DONE": (86, 1, CLASS_IO),
    "ENTER_ALLOC": (88, 1, CLASS_HEAP),
    "LEAVE_ALLOC": (89, 3, CLASS_HEAP),
    "ENTER_FREE": (90, 4, CLASS_HEAP),
    "ENTER_REALLOC": (91, 3, CLASS_HEAP),
    "HEAP": (92, 2, CLASS_MEMORY),
    "IO_READ": (93, 1, CLASS_IO),
    "IO_WRITE": (94, 1, CLASS_IO),
    "IO_FLUSH": (95, 1, CLASS_IO),
    "THREAD_FORK": (96, 1, CLASS_TEAM),
    "THREAD_JOIN": (97, 1, CLASS_TEAM),
    "THREAD_TEAM_BEGIN": (98, 2, CLASS_TEAM),
    "THREAD_TEAM_END": (99, 1, CLASS_TEAM),
    "THREAD_TASK_CREATE": (100, 2, CLASS_TEAM),
    "THREAD_TASK_BEGIN": (101, 2, CLASS_TEAM),
    "THREAD_TASK_END": (102, 3, CLASS_TEAM),
    "THREAD_TEAM_JOINED": (103, 1, CLASS_TEAM),
    "THREAD_CREATE": (104, 1, CLASS_THREAD),
    "THREAD_BEGIN": (105, 1, CLASS_THREAD),
    "THREAD_END": (106, 1, CLASS_THREAD),
    "THREAD_WAIT": (107, 1, CLASS_THREAD),
    "ACQUIRE_LOCK": (108, 1, CLASS_THREAD),
    "RELEASE_LOCK": (109, 1, CLASS_THREAD),
    "REWIND_MARK": (116, 0, CLASS_CONTROL),
    "REWOUND": (117, 1, CLASS_CONTROL),
    "MARKER": (118, 1, CLASS_USER),
    "COMMENT": (119, 1, CLASS_USER),
    "USER_SEND": (120, 2, CLASS_USER),
    "USER_RECV": (121, 2, CLASS_USER),
}
"""name -> (number, payload words, class): format.h says what the payload means."""

LOST_MOST: Final = 8
"""Above all reasons."""
LOST_REASONS: Final = {1: "SIGNAL", 2: "MEMORY", 3: "WRITE", 4: "LIMIT", 5: "THREAD", 6: "SIZE"}
GAP_REASONS: Final = {8: "OFF", 9: "REWOUND", 10: "RING", 11: "FLUSH", 12: "DAMAGE"}
"""Further reasons why a location did not record: enum vt_gap_reason of the kernel."""
GAP_OPEN: Final = 2**64 - 1
GAP_UNKNOWN: Final = 2**64 - 1
DEFINITIONS: Final = {
    "PROPERTY": 1, "REGION": 2, "MODULE": 3, "MODULE_END": 4, "COMM": 5, "COMM_MEMBERS": 6, "COMM_NAME": 7,
    "LOCATION": 8, "METRIC": 9, "CLOCK": 10, "SUMMARY": 11, "ATTRIBUTE": 12, "IO_FILE": 13, "IO_HANDLE": 14,
    "RMA_WIN": 15, "RMA_WIN_NAME": 16, "GROUP": 17, "REGION_AT": 18, "TEAM": 19, "LOST": 20, "CALL_SITE": 21,
    "CLOCK_OFFSET": 22, "TEXT": 23, "MARKER": 24, "NOTE": 25, "USER_COMM": 26, "MEMBER": 27,
}  # fmt: skip
MARKERS: Final = {"ERROR": 1, "WARNING": 2, "HINT": 3}
COMM_KINDS: Final = {
    "WORLD": 1, "SELF": 2, "DUP": 3, "SPLIT": 4, "CREATE": 5, "CREATE_GROUP": 6, "CART": 7, "CART_SUB": 8,
    "GRAPH": 9, "INTER_CREATE": 10, "INTER_MERGE": 11, "OTHER": 12, "FROM_GROUP": 13,
    "SPAWN": 14, "CONNECT": 15, "PARTITIONED": 16,
}  # fmt: skip
IO_PARADIGMS: Final = {"POSIX": 1, "ISOC": 2, "MPI": 3}
CLOCK_TSC, CLOCK_CNTVCT, CLOCK_NANOSECONDS = 1, 2, 3
EVENTS, DEFINITION_DATA, BUFFER = 1, 2, 3
"""Values of content: enum vt_content."""
CHUNK_FREE, CHUNK_FILLING, CHUNK_FULL = 0, 1, 2
CODEC_RAW, CODEC_ZSTD, CODEC_ZSTD_COLUMNS, CODEC_VARINT = 0, 1, 2, 3

CLOCK_PAIR = np.dtype([("ticks", "<u8"), ("mono", "<u8"), ("real", "<u8")])
FILE = np.dtype(
    [
        ("magic", "S8"), ("version", "<u2"), ("content", "u1"), ("clock", "u1"), ("head_bytes", "<u4"),
        ("checksum", "<u8"), ("run", "V16"), ("world", "<u8"), ("rank", "<u4"), ("world_size", "<u4"),
        ("location", "<u4"), ("pid", "<u4"), ("start", "<u8"), ("parent_pid", "<u4"), ("forked", "<u4"),
        ("parent_start", "<u8"), ("ticks_per_second", "<u8"), ("pair", CLOCK_PAIR), ("tool", "S32"), ("host", "S64"),
        ("prefix", "S256"), ("directory", "S512"), ("buffer", "S768"),
    ]
)  # fmt: skip
CHUNK = np.dtype(
    [
        ("location", "<u4"), ("sequence", "<u4"), ("thread", "<u4"), ("records", "<u4"), ("ticks", "<u8"),
        ("pair", CLOCK_PAIR), ("lost", "<u8"), ("dropped", "<u8"), ("depth", "<u4"), ("nopen", "<u4"), ("head", "<u2"),
        ("state", "u1"), ("content", "u1"), ("classes", "<u4"), ("end_ticks", "<u8"), ("next", "<u4"), ("used", "<u4"),
        ("open", "<u8", OPEN_MAX),
    ]
)  # fmt: skip
BLOCK = np.dtype(
    [
        ("magic", "S4"), ("version", "<u2"), ("codec", "u1"), ("content", "u1"), ("raw_bytes", "<u4"),
        ("stored_bytes", "<u4"), ("checksum", "<u8"), ("location", "<u4"), ("sequence", "<u4"), ("thread", "<u4"),
        ("records", "<u4"), ("classes", "<u4"), ("depth", "<u4"), ("nopen", "<u4"), ("unused", "<u4"),
        ("ticks", "<u8"), ("end_ticks", "<u8"), ("lost", "<u8"), ("dropped", "<u8"), ("pair", CLOCK_PAIR),
        ("open", "<u8", OPEN_MAX),
    ]
)  # fmt: skip
COLUMNS = np.dtype(
    [
        ("records", "<u2"), ("whats", "<u2"), ("step", "<u4"), ("time_bytes", "u1"), ("payload_bytes", "u1"),
        ("unused", "<u2"),
    ]
)  # fmt: skip
STEP_ZERO: Final = 128
WHAT_BYTES: Final = 6


def what(kind: str, identifier: int = 0) -> int:
    """The lower half of a record's first word: kind, number of payload words and id."""
    number, words, _ = KINDS[kind]
    return number << 24 | words << 21 | identifier


def checksum(seed: int, data: bytes) -> int:
    """vt_checksum of format.h: 64 bits over data, continued from seed. For heads; the kernel does the blocks."""
    mask, factor = 0xFFFFFFFFFFFFFFFF, 0xFF51AFD7ED558CCD
    value = seed ^ 0x9E3779B97F4A7C15
    whole = len(data) & ~7
    for word in struct.unpack(f"<{whole // 8}Q", data[:whole]):
        value = (value ^ word) * factor & mask
        value ^= value >> 32
    rest = len(data) - whole
    if rest:
        word = int.from_bytes(data[whole:], "little")
        value = (value ^ word ^ rest << 56) * factor & mask
        value ^= value >> 32
    return value


def block_checksum(head: bytes, stored: bytes) -> int:
    """The checksum that belongs into a block's head of BLOCK.itemsize bytes."""
    at = int(BLOCK.fields["checksum"][1])  # type: ignore[index]
    return checksum(checksum(0, head[:at] + bytes(8) + head[at + 8 :]), stored)
