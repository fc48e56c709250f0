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
    """The share of a question in one location. One thread at a time uses a part."""

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        """Sees the next events of the location. The arrays are views into memory that is used again: copy what is kept.

        replay: the stack of the location after this batch; None where no question of the pass needs the stack.
        """

    def end(self, replay: Replay | None) -> None:
        """The location has no more events."""


PartType = TypeVar("PartType", bound=Part)
Answer = TypeVar("Answer")


class Question(Generic[PartType, Answer]):
    """One question about the events of a source. A pass (vtrace.analysis.scan) asks several questions at once.

    A pass calls begin once, then part once for each location; every part sees each batch of its location once, in the
    order of time. Threads share the locations, so parts are filled at the same time and keep what they find to
    themselves, or take a lock. After the pass, answer merges the parts. An answer is small beside the events.

    The class attributes say what the parts need; what no question of a pass needs is not read.
    """

    kinds: frozenset[str] = frozenset()
    """Kinds of events (OTF2's names) that the parts look at, besides Enter and Leave of a replay."""
    replay = False
    """True: the replay follows the stack, and details have region, caller and node."""
    paths = False
    """True: the replay tells call paths apart."""
    attributes = False
    """True: the parts look at the attributes of events."""
    early = False
    """True: the parts also see the events before the window."""
    trace: Source
    """Set by begin, as are start and stop: the window in ns, ALWAYS and NEVER of io.archive.reader where it is open."""
    start: int
    stop: int

    def __init__(self) -> None:
        self.parts: dict[int, PartType] = {}
        """By row of trace.locations, ascending; filled when the pass is over."""

    def begin(self, trace: Source, start: int, stop: int) -> None:
        """A pass over this source and window begins."""
        self.trace, self.start, self.stop = trace, start, stop

    def part(self, trace: Source, location: int) -> PartType:
        """A new part for a row of trace.locations."""
        raise NotImplementedError

    def configure(self, replay: Replay) -> None:
        """May change what the replay of a thread gathers."""

    def answer(self) -> Answer:
        """The answer, out of the parts of all locations."""
        raise NotImplementedError


AnyQuestion = Question[Any, Any]
