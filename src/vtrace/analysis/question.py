# SPDX-License-Identifier: BSD-3-Clause
"""The protocol between a pass over the events and the questions that the pass answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from vtrace.io.archive.batches import Batch

if TYPE_CHECKING:
    from vtrace.analysis.replay import Replay
    from vtrace.analysis.source import Source

__all__ = ["Part", "Question"]


class Part:
    """The share of a question in one location. Only one thread at a time uses a part."""

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        """Gets the next events of the location. The arrays are views into memory that the next batch overwrites: a part
        must copy the values that it keeps.

        replay: the stack of the location after this batch; None if no question of the pass needs the stack.
        """

    def end(self, replay: Replay | None) -> None:
        """Called after the last event of the location."""


class ReplayPart(Part):
    """A part that takes its values from the stack of its location only."""

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        assert replay is not None
        self.add(replay)

    def end(self, replay: Replay | None) -> None:
        assert replay is not None
        self.add(replay)

    def add(self, replay: Replay) -> None:
        """Takes the calls and times that the stack has gathered since the last call."""
        raise NotImplementedError


PartType = TypeVar("PartType", bound=Part)
Answer = TypeVar("Answer")


class Question(Generic[PartType, Answer]):
    """One question about the events of a source. A pass (vtrace.analysis.scan) asks several questions at once.

    A pass calls begin once, then part once for each location; every part gets each batch of its location once, in the
    order of time. Threads share the locations, so several parts are filled at the same time: parts share no data, or
    use a lock. After the pass, answer merges the parts. An answer is small compared with the events.

    The class attributes state the needs of the parts; a pass reads only data that one of its questions needs.
    """

    kinds: frozenset[str] = frozenset()
    """Kinds of events (OTF2's names) that the parts need, besides Enter and Leave of a replay."""
    replay = False
    """True: the replay follows the stack, and details have region, caller and node."""
    paths = False
    """True: the replay distinguishes call paths."""
    stats = False
    """True: the replay sums the calls of each region."""
    path_stats = False
    """True: the replay sums the calls of each call path."""
    attributes = False
    """True: the parts need the attributes of events."""
    early = False
    """True: the parts also get the events before the window."""
    trace: Source
    """Set by begin, like start and stop: the window in ns; for an open end ALWAYS or NEVER of io.archive.batches."""
    start: int
    stop: int

    def __init__(self) -> None:
        self.parts: dict[int, PartType] = {}
        """By row of trace.locations, ascending; filled at the end of the pass."""
        self.borrowed: Any = None
        """The answer of rank 0 to the offer of this rank."""

    def begin(self, trace: Source, start: int, stop: int) -> None:
        """Called at the start of a pass over this source and window."""
        self.trace, self.start, self.stop = trace, start, stop

    def part(self, trace: Source, location: int) -> PartType:
        """A new part for a row of trace.locations."""
        raise NotImplementedError

    def configure(self, replay: Replay) -> None:
        """May change the data that the replay of a thread collects."""

    def offer(self) -> Any:
        """Names data of the parts that rank 0 may use in place, before this rank sends its parts."""

    def borrow(self, offer: Any) -> Any:
        """On rank 0: takes the offer of another rank's question; returns its attribute `borrowed`."""

    def adopt(self, location: int, part: PartType) -> None:
        """Takes the part of a location that another rank has read."""
        self.parts[location] = part

    def __reduce__(self) -> Any:
        """Other ranks get a question as its class and arguments, without parts."""
        return type(self), self.arguments()

    def arguments(self) -> tuple[Any, ...]:
        """The arguments of an equal question."""
        return ()

    def answer(self) -> Answer:
        """The answer, from the parts of all locations."""
        raise NotImplementedError


AnyQuestion = Question[Any, Any]
