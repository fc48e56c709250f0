# SPDX-License-Identifier: BSD-3-Clause
"""Passes over the events of a trace. Several ranks may share its locations: rank 0 asks the questions; the other ranks
read their locations, and send the parts to rank 0."""

from __future__ import annotations

import heapq
import io
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from vtrace.analysis.question import AnyQuestion
from vtrace.analysis.replay import KnownPaths, Replay
from vtrace.analysis.scan import Pass, WholeLocations, scan
from vtrace.analysis.selection import EVERYTHING, Selection
from vtrace.parallel.ranks import Ranks

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

Shared = TypeVar("Shared")

_SENDERS, _PIECE = 8, 8 << 20
"""The most ranks that send at the same time, and the bytes of a piece: rank 0 has memory for these pieces."""


def serve(ranks: Ranks, threads: int, opened: Callable[[], Source]) -> None:
    """On a rank other than 0: takes part in the passes over a source, with this number of threads, until rank 0 calls
    dismiss. opened: opens the source, at the first pass."""
    source = cache(opened)
    while asked := ranks.first(lambda: b""):
        work, *arguments = pickle.loads(asked)
        work(source, ranks, threads, *arguments)


def dismiss(ranks: Ranks) -> None:
    """On rank 0: the other ranks return from serve."""
    ranks.first(lambda: b"")


def share(trace: Source, work: Callable[..., Shared], *arguments: Any) -> Shared:
    """On rank 0: all ranks work with a function that returns their trace, the ranks, their threads and these arguments;
    the others serve. Returns rank 0's result."""
    trace.ranks.first(lambda: pickle.dumps((work, *arguments)))
    return work(lambda: trace, trace.ranks, trace.threads or 1, *arguments)


def ask(
    trace: Source, questions: Sequence[AnyQuestion], selection: Selection = EVERYTHING, *, jobs: int | None = None,
    in_order: bool = False, whole: WholeLocations | None = None,
) -> Pass:  # fmt: skip
    """Reads events as scan() does, by all ranks of the trace: the others serve. trace.problems gets the new lines."""
    if trace.ranks.size > 1:
        met = share(trace, _take_part, questions, selection)
    else:
        met = scan(trace, questions, selection, jobs=jobs or trace.threads, in_order=in_order, whole=whole)
    trace.problems += [line for line in met.problems if line not in trace.problems]
    return met


def _take_part(  # noqa: PLR0917
    source: Callable[[], Source], ranks: Ranks, threads: int, questions: Sequence[AnyQuestion], selection: Selection
) -> Pass:
    """Reads this rank's locations, and gives all parts to rank 0."""
    trace = ranks.together(source)
    own = _shares(trace, selection.all_rows(trace), ranks.size)[ranks.rank]
    met: Pass = ranks.together(lambda: scan(trace, questions, replace(selection, locations=tuple(own)), jobs=threads))
    collect(ranks, questions, own, met)
    return met


def collect(ranks: Ranks, questions: Sequence[AnyQuestion], own: Sequence[int], met: Pass) -> None:
    """Gives the parts of all ranks to the questions of rank 0, and adds up the facts of their pass there. own: the
    locations of this rank. All ranks call collect."""
    for question in questions:
        offers = ranks.gather({ranks.rank: question.offer()})
        question.borrowed = ranks.scatter([question.borrow(offer) for offer in offers.values()])
    for first in range(1, ranks.size, _SENDERS):
        sends = first <= ranks.rank < first + _SENDERS
        packer = _Packer(questions)
        pieces = packer.pieces(own, met) if sends else iter([])
        lists = [_Unpacker(questions) for _ in range(ranks.size)] if ranks.root else []
        while True:
            piece = next(pieces, [])
            if not ranks.total([len(piece)])[0]:
                break
            got = ranks.exchange([piece, *[[]] * (ranks.size - 1)])
            for rank, texts in enumerate(got if ranks.root else []):
                for text in texts:
                    lists[rank].take(text, met)
    if ranks.root:
        for question in questions:
            question.parts = dict(sorted(question.parts.items()))


def _shares(trace: Source, rows: Sequence[int], ranks: int) -> list[list[int]]:
    """Rows of locations for each rank: about the same number of bytes."""
    loads = [(0, rank) for rank in range(ranks)]
    found: list[list[int]] = [[] for _ in range(ranks)]
    for row in sorted(rows, key=lambda row: -trace.bytes_of(row)):
        load, rank = loads[0]
        heapq.heapreplace(loads, (load + trace.bytes_of(row), rank))
        found[rank].append(row)
    return found


class _Packer:
    """Packs the parts of a rank. Questions and replays are not packed with the parts, but numbered: rank 0 has the
    questions, and gets the call paths of the replays at the end."""

    def __init__(self, questions: Sequence[AnyQuestion]) -> None:
        self._questions = questions
        self._replays: list[Replay] = []

    def pieces(self, rows: Sequence[int], met: Pass) -> Iterator[list[bytes]]:
        """The parts of all locations, then the call paths of all parts and the facts of the pass: lists of texts of
        about _PIECE bytes."""
        piece: list[bytes] = []
        for row in rows:
            piece.append(self._packed((row, [question.parts.pop(row) for question in self._questions])))
            if sum(map(len, piece)) >= _PIECE:
                yield piece
                piece = []
        paths = [(replay.all_paths(), replay.is_full) for replay in self._replays]
        yield [*piece, self._packed((None, (paths, met)))]

    def _packed(self, value: Any) -> bytes:
        data = io.BytesIO()
        pickler = pickle.Pickler(data, protocol=5)
        pickler.persistent_id = self._number  # type: ignore[method-assign]
        pickler.dump(value)
        return data.getvalue()

    def _number(self, value: Any) -> tuple[str, int] | None:
        if isinstance(value, Replay):
            if value not in self._replays:
                self._replays.append(value)
            return "replay", self._replays.index(value)
        for number, question in enumerate(self._questions):
            if value is question:
                return "question", number
        return None


class _Unpacker:
    """Takes the parts of another rank."""

    def __init__(self, questions: Sequence[AnyQuestion]) -> None:
        self._questions = questions
        self._replays: dict[int, KnownPaths] = {}

    def take(self, data: bytes, met: Pass) -> None:
        """Gives the parts to the questions, or adds the facts of the pass to met."""
        unpickler = pickle.Unpickler(io.BytesIO(data))
        unpickler.persistent_load = self._of_number  # type: ignore[method-assign]
        row, value = unpickler.load()
        if row is not None:
            for question, part in zip(self._questions, value, strict=True):
                question.adopt(row, part)
            return
        paths, other = value
        for number, (found, is_full) in enumerate(paths):
            known = self._of_number(("replay", number))
            known.paths, known.is_full = found, is_full
        met.add(other)

    def _of_number(self, number: tuple[str, int]) -> Any:
        kind, place = number
        return self._questions[place] if kind == "question" else self._replays.setdefault(place, KnownPaths())
