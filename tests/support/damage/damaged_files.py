# SPDX-License-Identifier: BSD-3-Clause
"""Damage to the local files of a run: to their content (with correct checksums) and to their bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from support.synthetic_runs.whole_run import File, Files
from vtrace.io.local import records as r

Op = tuple[Any, ...]

LIMITS = [0, 1, 2, 3, 5, 127, 255, 2**16 - 1, 2**16, 2**20, 2**24, 2**31, 2**32 - 1, 2**32, 2**62, 2**63, 2**64 - 1]
INTEGERS = st.sampled_from(LIMITS) | st.integers(0, 2**64 - 1)
TEXTS = st.sampled_from(["", "\n", "a\nb", "\0", "\x1b[31m", "\udcff", "x" * 9000, "..", "/dev/zero", "9" * 40])
VALUES = INTEGERS | TEXTS | st.none() | st.booleans() | st.just([]) | st.just([[]]) | st.binary(max_size=9)
VALUES |= st.integers(-(2**63), -1) | st.floats()
WORDS = INTEGERS | st.builds(
    lambda dt, kind, words, i: dt << 32 | kind << 24 | words << 21 | i,
    st.sampled_from([0, 1, 2**32 - 1]), st.integers(0, 127), st.integers(0, 7), st.integers(0, 9) | st.just(r.ID_MAX),
)  # fmt: skip
NUMBERS = st.integers(0, 80)
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
"""Damage to the content, with correct checksums."""
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
    """Names and bytes of a run's files with damage. other: files of another run, for damage that mixes both runs."""
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
    """An offset, mostly near the start of the file, where the heads are."""
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
    """Moves 512 bytes to another place."""
    at, whole = _at(data[key], place), data[key]
    piece, rest = whole[at : at + 512], whole[:at] + whole[at + 512 :]
    target = _at(rest, to)
    data[key] = rest[:target] + piece + rest[target:]


_OUTER: dict[str, Callable[..., None]] = {
    "cut": _cut, "flip": _flip, "grow": _grow, "splice": _splice, "other": _other, "swap": _swap, "remove": _remove,
    "move": _move,
}  # fmt: skip
