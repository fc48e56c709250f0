# SPDX-License-Identifier: BSD-3-Clause
"""Messages: number and bytes between processes, and sends with their receives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.details import are, known_bytes, number, region_rows
from vtrace.analysis.questions.sums import Sums
from vtrace.analysis.replay import Replay
from vtrace.analysis.table import Array, Table, group, joined, stack
from vtrace.io.archive.batches import ALWAYS, Batch
from vtrace.io.archive.reader_abi import DETAIL

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

__all__ = ["Matrix"]

SENDS = ("MpiSend", "MpiIsend")
RECEIVES = ("MpiRecv", "MpiIrecv")
_POST = "MpiIrecvRequest"
_ALL = (*SENDS, *RECEIVES, _POST)
_END = dict.fromkeys("comm peer tag bytes time region order".split(), np.int64)
"""One end of a message. peer: row of locations; order: place among the location's sends, or posted receives."""
_RAW = np.dtype(
    [("kind", "u1"), ("ref", "u4"), ("region", "u4"), ("time", "i8"), ("order", "i8"), ("words", "u8", (4,))]
)
"""One end as its event has it: peer, tag, bytes, and maybe request; a post has its request first."""
_MANY = 1 << 16
"""Ends to match at once."""


@dataclass
class Matrix:
    """The number and bytes of messages between processes, for pairs with messages.

    sender, receiver (rows of Trace.processes: MPI's ranks), count, bytes: (pairs,) int64.
    """

    sender: Array
    receiver: Array
    count: Array
    bytes: Array
    size: int
    """The number of processes."""

    def dense(self, what: str = "bytes") -> Array:
        """A dense matrix: (size, size) int64, [sender, receiver]. what: "count" or "bytes"."""
        found = np.zeros((self.size, self.size), np.int64)
        found[self.sender, self.receiver] = getattr(self, what)
        return found

    def table(self) -> Table:
        """The pairs as rows: sender, receiver, count, bytes."""
        return Table({name: getattr(self, name) for name in ("sender", "receiver", "count", "bytes")})


class _MatrixPart(Part):
    def __init__(self, owner: MessageMatrix, location: int) -> None:
        self.owner, self.location = owner, location

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        found = batch.details[_ways()[batch.details["kind"]] > 0]
        if len(found):
            self.owner.sums.add(len(found), (self.location, found))


@cache
def _ways() -> Array:
    """(256,) by the number of a kind of event: 1 for sends, 2 for receives, else 0."""
    ways = np.zeros(256, np.int64)
    ways[[number(kind) for kind in SENDS]], ways[[number(kind) for kind in RECEIVES]] = 1, 2
    return ways


class MessageMatrix(Question[_MatrixPart, Matrix]):
    """Answers Trace.message_matrix, from the sends."""

    kinds = frozenset(SENDS + RECEIVES)

    def __init__(self) -> None:
        super().__init__()
        self.sums = Sums(("way", "here", "there"), ("count", "bytes"), self._columns)

    def part(self, trace: Source, location: int) -> _MatrixPart:
        return _MatrixPart(self, location)

    def _columns(self, pieces: list[tuple[int, Array]]) -> dict[str, Array]:
        """Columns of pieces. The details of all four kinds begin with peer, tag, bytes."""
        places = self.trace.places
        location = np.repeat([place for place, _ in pieces], [len(found) for _, found in pieces])
        found = joined([each for _, each in pieces], DETAIL)
        comm = self.trace.definitions.ids["comms"].rows(found["ref"])
        peer = places.locate(comm, found["words"][:, 0], location)
        return {
            "way": _ways()[found["kind"]], "here": places.process[location],
            "there": np.where(peer < 0, -1, places.process[peer]), "count": np.ones(len(found), np.int64),
            "bytes": known_bytes(found["words"][:, 2])[0],
        }  # fmt: skip

    def answer(self, sent: bool = True) -> Matrix:
        """The matrix. sent: True counts the sends, False the receives."""
        found = self.sums.table()
        found = found.take((found["way"] == (1 if sent else 2)) & (found["here"] >= 0) & (found["there"] >= 0))
        if not sent:
            found = found.take(np.lexsort((found["here"], found["there"])))
        sender, receiver = (found[name] for name in (("here", "there") if sent else ("there", "here")))
        return Matrix(
            sender=sender, receiver=receiver, count=found["count"], bytes=found["bytes"], size=self.trace.processes.rows
        )


class _EndsPart(Part):
    """The sends, receives and posts of receives of one location."""

    def __init__(self, owner: Messages, location: int) -> None:
        self.owner, self.location = owner, location
        self.found: list[Array] = []
        self.seen = 0

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        rows = batch.details.compress(are(batch.details["kind"], *_ALL))
        if len(rows):
            found = np.empty(len(rows), _RAW)
            for name in ("kind", "ref", "region"):
                found[name] = rows[name]
            found["time"], found["order"] = batch.time[rows["row"]], rows["row"].astype(np.int64) + self.seen
            found["words"] = rows["words"][:, : _RAW["words"].shape[0]]
            self.found.append(found)
        self.seen += len(batch)

    def end(self, replay: Replay | None) -> None:
        self.owner.add(self.location, self.found)
        self.found = []


def _posted(ends: dict[str, Array], posts: Array, requests: Array) -> Array:
    """The order of ends, that of a receive from its post: MPI matches receives as they are posted, not as they
    complete. posts: a mask; requests: numbers."""
    _, member = group([ends["location"], requests])
    width = int(ends["order"].max(initial=0)) + 1
    keys = member * width + ends["order"]
    post = np.flatnonzero(posts)[np.argsort(keys[posts])]
    receive = np.flatnonzero(ends["kind"] == number("MpiIrecv"))
    order = ends["order"].copy()
    if len(post):
        # A number may be used again: the last post of that number before the completion is the receive's.
        last = np.searchsorted(keys[post], keys[receive]) - 1
        right = (last >= 0) & (member[post[last]] == member[receive])
        order[receive[right]] = ends["order"][post[last[right]]]
    return order


class Messages(Question[_EndsPart, Table]):
    """Answers Trace.messages."""

    kinds = frozenset(_ALL)
    replay = early = True

    def __init__(self, most: int, channel: tuple[int, int, int, int] | None = None) -> None:
        """channel: only the messages of a sender to a receiver (locations) with a communicator and a tag."""
        super().__init__()
        self.most, self.share, self._channel = most, 1, channel
        """share: one of `share` messages is kept."""
        self.kept: tuple[list[Table], list[Table]] = [], []
        """Ends of sends and of receives, in any order."""
        self.rows, self.lock = 0, Lock()
        self._pieces: list[tuple[int, Array]] = []
        self._waiting = 0

    def part(self, trace: Source, location: int) -> _EndsPart:
        return _EndsPart(self, location)

    def add(self, location: int, found: list[Array]) -> None:
        """Takes all ends (_RAW) of a location."""
        with self.lock:
            self._pieces += [(location, each) for each in found]
            self._waiting += sum(map(len, found))
            if self._waiting >= _MANY:
                self._join()

    def _join(self) -> None:
        """Keeps the ends that wait, of many locations together, since a call of numpy takes as long as hundreds of
        rows."""
        pieces, self._pieces, self._waiting = self._pieces, [], 0
        if not pieces:
            return
        raw = joined([each for _, each in pieces], _RAW)
        location = np.repeat([each for each, _ in pieces], [len(each) for _, each in pieces])
        comm = self.trace.definitions.ids["comms"].rows(raw["ref"])
        ends = {
            "comm": comm, "peer": self.trace.places.locate(comm, raw["words"][:, 0], location),
            "tag": raw["words"][:, 1].astype(np.int64), "bytes": known_bytes(raw["words"][:, 2])[0],
            "time": raw["time"], "region": region_rows(raw["region"]), "order": raw["order"], "location": location,
            "kind": raw["kind"],
        }  # fmt: skip
        posts = raw["kind"] == number(_POST)
        ends["order"] = _posted(ends, posts, np.where(posts, raw["words"][:, 0], raw["words"][:, 3]))
        for sent in (True, False):
            mine = _ways()[raw["kind"]] == (1 if sent else 2)
            self._keep(Table(ends).take(mine & self._of_channel(ends, sent)), sent)
        while self.rows > 8 * self.most:
            self._thin()

    def _of_channel(self, ends: dict[str, Array], sent: bool) -> Array:
        """A mask of the ends that belong to the channel."""
        if self._channel is None:
            return np.ones(len(ends["time"]), bool)
        sender, receiver, comm, tag = self._channel
        here, peer = (sender, receiver) if sent else (receiver, sender)
        wanted = (ends["peer"] == peer) & (ends["comm"] == comm) & (ends["tag"] == tag) & (ends["location"] == here)
        return np.asarray(wanted)

    def _keep(self, ends: Table, sent: bool) -> None:
        """Keeps ends with their turn among the ends of the same sender, receiver, communicator and tag. A message has
        the same turn at both ends."""
        keys = ("tag", "peer", "comm", "location")
        ends = ends.take(np.lexsort([ends[name] for name in ("order", *keys)]))
        same = np.ones(max(ends.rows - 1, 0), bool)
        for name in keys:
            same &= ends[name][1:] == ends[name][:-1]
        begins = np.flatnonzero(np.concatenate([[True], ~same])) if ends.rows else np.empty(0, np.int64)
        turn = np.arange(ends.rows) - np.repeat(begins, np.diff([*begins, ends.rows]))
        sender, receiver = (ends[name] for name in (("location", "peer") if sent else ("peer", "location")))
        found = Table({**{name: ends[name] for name in _END}, "sender": sender, "receiver": receiver, "turn": turn})
        if not sent:
            found = found.take(found["time"] >= self.start)
        found = found.take(self._chosen(found))
        self.kept[0 if sent else 1].append(found)
        self.rows += found.rows

    def _thin(self) -> None:
        self.share *= 2
        for way in self.kept:
            way[:] = [table.take(self._chosen(table)) for table in way]
        self.rows = sum(table.rows for way in self.kept for table in way)

    def _chosen(self, ends: Table) -> Array:
        """A mask: the sample has either both ends of a message or none."""
        if self.share == 1:
            return np.ones(ends.rows, bool)
        mixed = np.zeros(ends.rows, np.uint64)
        for name in ("sender", "receiver", "comm", "tag", "turn"):
            mixed = (mixed + ends[name].astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        chosen: Array = mixed % np.uint64(self.share) == 0
        return chosen

    def answer(self) -> Table:
        names = dict.fromkeys((*_END, "sender", "receiver", "turn"), np.int64)
        self._join()
        while True:
            sends, receives = (stack([{n: end[n] for n in names} for end in way], names) for way in self.kept)
            found = match(sends, receives, self.share, self.start)
            if found.rows <= self.most:
                return found
            self._thin()


def match(sends: Table, receives: Table, share: int = 1, start: int = ALWAYS) -> Table:
    """Sends with their receives: rows with equal sender, receiver, comm, tag and turn, by the time of the send. start:
    ns; unmatched sends before it do not count."""
    keys = ("sender", "receiver", "comm", "tag", "turn")
    _, member = group([np.concatenate([sends[key], receives[key]]) for key in keys])
    groups = int(member.max(initial=-1)) + 1
    send, receive = np.full(groups, -1), np.full(groups, -1)
    send[member[: sends.rows]] = np.arange(sends.rows)
    receive[member[sends.rows :]] = np.arange(receives.rows)
    both = (send >= 0) & (receive >= 0)
    s, r = sends.take(send[both]), receives.take(receive[both])
    alone = sends["time"][send[(send >= 0) & (receive < 0)]]
    table = Table(
        {
            "sender": s["sender"], "receiver": s["receiver"], "send": s["time"], "receive": r["time"],
            "comm": s["comm"], "tag": s["tag"], "bytes": s["bytes"], "send_region": s["region"],
            "receive_region": r["region"],
        },
        share=share, unmatched_sends=int(np.count_nonzero(alone >= start)),
        unmatched_receives=int(np.count_nonzero(receive[~both] >= 0)),
    )  # fmt: skip
    return table.take(np.lexsort((table["receive"], table["send"])))
