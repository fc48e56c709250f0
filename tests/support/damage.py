# SPDX-License-Identifier: BSD-3-Clause
"""The local files of a run, and damage to them: to what they say (with checksums that fit) and to their bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
from hypothesis import strategies as st

from support import localfiles as lf
from vtrace.io import records as r

NS = 1_700_000_000_000_000_000
Op = tuple[Any, ...]
Files = dict[str, Any]
"""Name -> File, or bytes."""


@dataclass
class File:
    """A local file before it becomes bytes. definitions and chunks hold its content, fields override its head's."""

    content: int
    codec: int
    head: dict[str, Any]
    definitions: list[list[Any]] = field(default_factory=list)
    chunks: list[lf.Chunk] = field(default_factory=list)
    fields: list[tuple[int, str, int]] = field(default_factory=list)
    """(block, name in records.BLOCK or CHUNK, value)"""

    def data(self) -> bytes:
        """What the runtime would write."""
        chunks = list(self.chunks)
        if self.content == r.DEFINITION_DATA:
            chunks = _packed(self.definitions, self.head["location"])
        overrides: list[dict[str, int]] = [{} for _ in chunks]
        for number, name, value in self.fields if chunks else ():
            kind = (r.CHUNK if self.content == r.BUFFER else r.BLOCK).fields[name][0]
            overrides[number % len(chunks)][name] = value % (1 << 8 * kind.itemsize)
        head = lf.write_head(self.content, **self.head)
        if self.content == r.BUFFER:
            states = [{"state": r.CHUNK_FULL, **o} for o in overrides]
            parts = [lf.chunk_bytes(c, **o) for c, o in zip(chunks, states, strict=True)]
            return b"".join([head.ljust(r.CHUNK_SIZE, b"\0"), *parts])
        stored = [lf.encode(bytes(c.data), self.codec) for c in chunks]
        blocks = zip(chunks, stored, overrides, strict=True)
        return head + b"".join(lf.block(c, **{"codec": self.codec, "stored": s, **o}) for c, s, o in blocks)


def _packed(definitions: Sequence[list[Any]], location: int) -> list[lf.Chunk]:
    """Two blocks, so that one may be damaged and the other not."""
    chunks = [lf.Chunk(location, n, content=r.DEFINITION_DATA) for n in range(2)]
    for number, definition in enumerate(definitions):
        data = msgpack.packb(definition, use_bin_type=True, unicode_errors="surrogateescape")
        chunk = chunks[number * 2 // len(definitions)]
        if len(chunk.data) + len(data) <= r.RAW_MAX:
            chunk.data += data
            chunk.records += 1
    return chunks


def make_run(
    directory: Path, *, run: bytes = b"R" * 16, ranks: int = 2, codecs: tuple[int, int] = (0, 0)
) -> dict[str, Any]:
    """The files of a run with two threads in rank 0; the last rank died and left its buffer.

    codecs: of definitions and of events.
    """
    files: Files = {}
    for rank in range(ranks):
        died = rank == ranks - 1
        pair = (1000, 1000, NS)
        head = {"run": run, "rank": rank, "world_size": ranks, "pid": 100 + rank, "start": NS, "pair": pair,
                "prefix": "heat", "location": 0, "directory": str(directory)}  # fmt: skip
        name = f"heat.xnode1-{100 + rank}-{NS:x}.buffer"
        if died:
            head["buffer"] = str(directory / name)
            chunks = [_events(rank, 2), _events(rank, 3)]
            files[name] = File(r.BUFFER, 0, head, chunks=chunks, fields=[(1, "state", r.CHUNK_FILLING)])
        for location in (0, 1) if not rank else (0,):
            ident = f"{rank + 1:x}" if not location else f"{(rank + 1) << 16 | location:x}"
            own = {**head, "location": location}
            definitions = _shared(rank, ranks, directory) if not location else []
            definitions += [[r.DEFINITIONS["LOCATION"], location, 100, f"t{location}" if location else None, 1000]]
            if not died:
                definitions.append([r.DEFINITIONS["SUMMARY"], location, 4, 0, 0, 0, 0, 0, 9000, False])
            files[f"heat.{ident}.def.z"] = File(r.DEFINITION_DATA, codecs[0], own, definitions=definitions)
            chunks = [_events(rank, n, location) for n in range(2)]
            files[f"heat.{ident}.events.z"] = File(r.EVENTS, codecs[1], own, chunks=chunks)
    files["heat.uctl"] = f"vtrace uctl 1\nrun {run.hex()}\nworld 7\nranks {ranks}\ntool vtrace 0.1.0\n".encode()
    return files


def _events(rank: int, sequence: int, location: int = 0) -> lf.Chunk:
    start = 1000 + 2000 * sequence
    chunk = lf.Chunk(location, sequence, start, pair=(start, start, NS + start), open=[r.what("ENTER", 3)] * sequence)
    chunk.record("ENTER", 10, 3).enter(0x1010 + 16 * sequence, 5).record("ENTER", 5, 1 + rank)
    for comm in (1, 3, 4):
        chunk.record("RECV" if rank else "SEND", 5, comm, (rank + 1) % 2 | 77 << 32, 8)
    chunk.record("COLL_BEGIN").record("COLL_END", 5, 3, 11 | 0xFFFFFFFF << 32, 8, 8).record("METRIC", 1, 1, 42)
    chunk.record("ISEND", 1, 1, 0, 8, 5).record("ISEND_COMPLETE", 1, 0, 5).record("FLUSH", 1, 0, 20)
    chunk.record("RMA_PUT", 1, 1, 0, 8, 1).record("RMA_GROUP_SYNC", 1, 2, 1, 1).record("IO_BEGIN", 1, 2, 1, 8, 3)
    chunk.record("ATTRIBUTE", 1, 1, 2).record("IO_COMPLETE", 0, 2, 8, 3).record("IO_DUPLICATE", 1, 1, 2)
    chunk.record("IO_DELETE", 1, 1, 3).record("LEAVE", 50, 1 + rank).leave(0x1010 + 16 * sequence, 5).record("ENTER_ADDRESS", 1, 0, 0x405010)
    return chunk.record("LEAVE_ADDRESS", 1, 0, 0x405010).record("LEAVE", 10, 3)


def _shared(rank: int, ranks: int, directory: Path) -> list[list[Any]]:
    """The definitions of a process; its module does not exist."""
    members = np.arange(ranks, dtype="<u4").tobytes()
    named = [
        ["PROPERTY", "command", ["./heat", "100"]], ["PROPERTY", "setting.VT_MAX_FLUSHES", "1"],
        ["REGION", 1, "MPI_Send", 4, 28, None, 0], ["REGION", 2, "MPI_Recv", 4, 28, None, 0],
        ["REGION", 3, "work", 1, 1, "heat.c", 12],
        ["MODULE", 0x1000, 0x401000, 0x8000, 0x400000, str(directory / "no"), b"\1\2\3\4", 900],
        ["COMM", 1, r.COMM_KINDS["WORLD"], None, 0, 9, 0, ranks, rank, 0], ["COMM_MEMBERS", 1, 0, 0, 7, members],
        ["COMM", 2, r.COMM_KINDS["SELF"], None, 0, 0, 0, 1, 0, 0], ["COMM_NAME", 3, "grid"],
        ["COMM", 3, r.COMM_KINDS["DUP"], 1, 0, 9, 0, ranks, rank, 0], ["COMM_MEMBERS", 3, 0, 0, 7, members],
        ["COMM", 4, r.COMM_KINDS["INTER_CREATE"], 1, 5, 8, 0, 1, 0, 1],
        ["COMM_MEMBERS", 4, 0, 0, 7, members[:4]], ["COMM_MEMBERS", 4, 1, 0, 7, members[4:8]],
        ["RMA_WIN", 1, 1, 0], ["RMA_WIN", 2, 4, 1], ["RMA_WIN_NAME", 1, "halo"], ["GROUP", 1, 1, 0, members],
        ["IO_FILE", 1, "/home/x"], ["IO_HANDLE", 1, "fd", 1, 1, 1, None, None, 2, 0], ["ATTRIBUTE", 1, "of", "", 24],
        ["IO_HANDLE", 2, "result", 1, 3, 0, 1, 1, None, None],
        ["METRIC", 1, "heap", "B", "u", "p", True], ["CLOCK", 1000, 1000, NS],
        ["CLOCK", 2_000_001_000, 2_000_001_000, NS + 2_000_000_000],
    ]  # fmt: skip
    return [[r.DEFINITIONS[name], *values] for name, *values in named]


# ---- Damage ----

LIMITS = [0, 1, 2, 3, 5, 127, 255, 2**16 - 1, 2**16, 2**20, 2**24, 2**31, 2**32 - 1, 2**32, 2**62, 2**63, 2**64 - 1]
INTEGERS = st.sampled_from(LIMITS) | st.integers(0, 2**64 - 1)
TEXTS = st.sampled_from(["", "\n", "a\nb", "\0", "\x1b[31m", "\udcff", "x" * 9000, "..", "/dev/zero", "9" * 40])
VALUES = INTEGERS | TEXTS | st.none() | st.booleans() | st.just([]) | st.just([[]]) | st.binary(max_size=9)
VALUES |= st.integers(-(2**63), -1) | st.floats()
WORDS = INTEGERS | st.builds(
    lambda dt, kind, words, i: dt << 32 | kind << 24 | words << 21 | i,
    st.sampled_from([0, 1, 2**32 - 1]), st.integers(0, 127), st.integers(0, 7), st.integers(0, 9) | st.just(r.ID_MAX),
)  # fmt: skip
NUMBERS = st.integers(0, 40)
HEAD_FIELDS = [n for n in r.FILE.names or () if n not in ("magic", "checksum", "run", "pair", "buffer", "content")]
BLOCK_FIELDS = [n for n in r.BLOCK.names or () if n not in ("magic", "pair", "open")]
CHUNK_FIELDS = [n for n in r.CHUNK.names or () if n not in ("pair", "open")]

INNER = st.one_of(
    st.tuples(st.just("value"), NUMBERS, NUMBERS, st.integers(0, 9), VALUES),
    st.tuples(st.just("head"), NUMBERS, st.sampled_from(HEAD_FIELDS), INTEGERS | TEXTS),
    st.tuples(st.just("pair"), NUMBERS, NUMBERS, st.integers(0, 2), INTEGERS),
    st.tuples(st.just("block"), NUMBERS, NUMBERS, st.integers(0, 40), INTEGERS),
    st.tuples(st.just("word"), NUMBERS, NUMBERS, NUMBERS, WORDS),
    st.tuples(st.just("lose"), NUMBERS, NUMBERS),
    st.tuples(st.just("twice"), NUMBERS, NUMBERS),
    st.tuples(st.just("order"), NUMBERS, NUMBERS),
    st.tuples(st.just("foreign"), NUMBERS, st.lists(VALUES, max_size=10)),
)
"""Damage that a checksum does not show."""
PLACES = st.integers(0, 4000)
OUTER = st.one_of(
    st.tuples(st.just("cut"), NUMBERS, PLACES),
    st.tuples(st.just("flip"), NUMBERS, PLACES, st.integers(1, 255)),
    st.tuples(st.just("grow"), NUMBERS, PLACES, st.binary(min_size=1, max_size=40)),
    st.tuples(st.just("splice"), NUMBERS, PLACES, PLACES),
    st.tuples(st.just("other"), NUMBERS),
    st.tuples(st.just("swap"), NUMBERS, NUMBERS),
    st.tuples(st.just("remove"), NUMBERS),
    st.tuples(st.just("move"), NUMBERS, PLACES, PLACES),
)
"""Damage to bytes."""
DAMAGE = st.lists(INNER, max_size=3), st.lists(OUTER, max_size=2)


def damage(files: Files, other: Files, inner: Sequence[Op], outer: Sequence[Op]) -> dict[str, bytes]:
    """Names and bytes of a run after some damage; other: the files of another run, to mix with."""
    structured = [file for file in files.values() if isinstance(file, File)]
    for name, number, *values in inner:
        file = structured[number % len(structured)]
        _INNER[name](file, *values)
    data = {name: file.data() if isinstance(file, File) else file for name, file in files.items()}
    foreign = {name: file.data() if isinstance(file, File) else file for name, file in other.items()}
    for name, number, *values in outer:
        if data:
            key = sorted(data)[number % len(data)]
            _OUTER[name](data, key, foreign.get(key, b""), *values)
    return data


def _value(file: File, i: int, j: int, value: Any) -> None:
    definition = file.definitions[i % len(file.definitions)] if file.definitions else []
    if definition:
        definition[j % len(definition)] = value


def _head(file: File, name: str, value: Any) -> None:
    kind = r.FILE.fields[name][0]
    if kind.kind == "S":
        file.head[name] = value if isinstance(value, str) and "\udcff" not in value else str(value)[:40]
    elif isinstance(value, int):
        file.head[name] = value % (1 << 8 * kind.itemsize)


def _pair(file: File, i: int, j: int, value: int) -> None:
    target = file.chunks[i % len(file.chunks)] if file.chunks else None
    pair = list(target.pair if target else file.head["pair"])
    pair[j] = value
    if target:
        target.pair = (pair[0], pair[1], pair[2])
    else:
        file.head["pair"] = tuple(pair)


def _block(file: File, i: int, j: int, value: int) -> None:
    names = CHUNK_FIELDS if file.content == r.BUFFER else BLOCK_FIELDS
    file.fields.append((i, names[j % len(names)], value))


def _word(file: File, i: int, j: int, word: int) -> None:
    if file.chunks:
        data = file.chunks[i % len(file.chunks)].data
        at = j % (len(data) // 8) * 8
        data[at : at + 8] = word.to_bytes(8, "little")


def _lose(file: File, i: int) -> None:
    items: list[Any] = file.definitions or file.chunks
    if len(items) > 1:
        del items[i % len(items)]


def _twice(file: File, i: int) -> None:
    items: list[Any] = file.definitions or file.chunks
    items.append(items[i % len(items)])


def _order(file: File, i: int) -> None:
    items: list[Any] = file.definitions or file.chunks
    items.insert(0, items.pop(i % len(items)))


def _foreign(file: File, values: list[Any]) -> None:
    if file.definitions:
        file.definitions.insert(1, values)


_INNER: dict[str, Callable[..., None]] = {
    "value": _value, "head": _head, "pair": _pair, "block": _block, "word": _word, "lose": _lose, "twice": _twice,
    "order": _order, "foreign": _foreign,
}  # fmt: skip


def _at(data: bytes, place: int) -> int:
    """Mostly near the begin, where the heads are."""
    return min(place, len(data)) if place < 3000 else len(data) * (place - 3000) // 1000


def _cut(data: dict[str, bytes], key: str, other: bytes, place: int) -> None:
    data[key] = data[key][: _at(data[key], place)]


def _flip(data: dict[str, bytes], key: str, other: bytes, place: int, bits: int) -> None:
    changed = bytearray(data[key])
    if changed:
        changed[min(_at(changed, place), len(changed) - 1)] ^= bits
    data[key] = bytes(changed)


def _grow(data: dict[str, bytes], key: str, other: bytes, place: int, more: bytes) -> None:
    at = _at(data[key], place)
    data[key] = data[key][:at] + more + data[key][at:]


def _splice(data: dict[str, bytes], key: str, other: bytes, place: int, second: int) -> None:
    data[key] = data[key][: _at(data[key], place)] + other[_at(other, second) :]


def _other(data: dict[str, bytes], key: str, other: bytes) -> None:
    data[key] = other


def _swap(data: dict[str, bytes], key: str, other: bytes, number: int) -> None:
    second = sorted(data)[number % len(data)]
    data[key], data[second] = data[second], data[key]


def _remove(data: dict[str, bytes], key: str, other: bytes) -> None:
    del data[key]


def _move(data: dict[str, bytes], key: str, other: bytes, place: int, to: int) -> None:
    """A piece of 512 bytes from one place to another."""
    at, whole = _at(data[key], place), data[key]
    piece, rest = whole[at : at + 512], whole[:at] + whole[at + 512 :]
    target = _at(rest, to)
    data[key] = rest[:target] + piece + rest[target:]


_OUTER: dict[str, Callable[..., None]] = {
    "cut": _cut, "flip": _flip, "grow": _grow, "splice": _splice, "other": _other, "swap": _swap, "remove": _remove,
    "move": _move,
}  # fmt: skip
