# SPDX-License-Identifier: BSD-3-Clause
"""Answers that one pass over the events gives to several parts of the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any

from vtrace.analysis.selection import EVERYTHING, Selection
from vtrace.analysis.shared_scan import ask
from vtrace.timeline.run_answers import RunAnswers

if TYPE_CHECKING:
    from vtrace.analysis.question import AnyQuestion
    from vtrace.analysis.source import Source
    from vtrace.timeline.window_sums import WindowSums


class Prepared:
    """Answers to questions about a trace. Threads may share a Prepared."""

    def __init__(self, trace: Source, sums: WindowSums | None = None) -> None:
        """sums: answers questions without a pass."""
        self.trace, self._sums, self._run = trace, sums, RunAnswers(trace, sums)
        self._known: dict[tuple[type[AnyQuestion], Selection], AnyQuestion] = {}
        self._answers: dict[AnyQuestion, Any] = {}
        self._all_within = True
        """False after a pass that met events outside of the trace's time: a window leaves these events out."""
        self._lock = Lock()
        """Held while answers are made, since two threads may ask for one, and one may still ask at the end."""

    @contextmanager
    def together(
        self, wanted: Sequence[tuple[AnyQuestion, Selection]], turns: AbstractContextManager[Any]
    ) -> Iterator[None]:
        """Reads the events once for the questions of equal selections; inside, `answers` takes their answers from
        there. Of several questions of a type, the first is asked. turns: is entered for the passes only."""
        with turns:
            known = self._read(wanted)
            if not self._all_within:
                cut = [(copy(question), part) for question, part in wanted if part.bounds != EVERYTHING.bounds]
                known |= self._read([each for each in cut if (type(each[0]), self._widest(each[1])) not in known])
        self._known = known
        try:
            yield
        finally:
            with self._lock:
                self._known, self._answers = {}, {}

    def _read(
        self, wanted: Sequence[tuple[AnyQuestion, Selection]]
    ) -> dict[tuple[type[AnyQuestion], Selection], AnyQuestion]:
        """The questions that were asked, by their types and widest selections."""
        known: dict[tuple[type[AnyQuestion], Selection], AnyQuestion] = {}
        passes: dict[Selection, list[AnyQuestion]] = {}
        for question, selection in wanted:
            if self._sums and self._sums.answers(question):
                continue
            whole = self._widest(selection)
            if known.setdefault((type(question), whole), question) is question:
                passes.setdefault(whole, []).append(question)
        for selection, questions in passes.items():
            met = ask(self.trace, questions, selection)
            self._all_within &= met.is_within(0, self.trace.duration)
        return known

    def answers(self, questions: Sequence[AnyQuestion], selection: Selection) -> list[Any]:
        """The answers to questions about a selection. Those that are not prepared read the events once."""
        if self._sums and all(map(self._sums.answers, questions)):
            return [self._sums.answer(question, selection) for question in questions]
        whole = self._widest(selection)
        known = [self._known.get((type(question), whole)) for question in questions]
        missing = [question for question, other in zip(questions, known, strict=True) if other is None]
        if len(missing) == len(questions) and (found := self._run.answers(questions, selection)) is not None:
            return found
        if missing:
            ask(self.trace, missing, selection)
        return [
            question.answer() if other is None else self._answer(other)
            for question, other in zip(questions, known, strict=True)
        ]

    def _answer(self, question: AnyQuestion) -> Any:
        with self._lock:
            if question in self._answers:
                return self._answers[question]
            answer = question.answer()
            if question in self._known.values():
                self._answers[question] = answer
        return answer

    def _widest(self, selection: Selection) -> Selection:
        """An equal selection of the trace."""
        start, stop = selection.bounds
        if self._all_within and start <= 0 and stop >= self.trace.duration:
            selection = replace(selection, start=None, stop=None)
        every = selection.locations == tuple(range(self.trace.locations.rows))
        return replace(selection, locations=None) if every else selection
