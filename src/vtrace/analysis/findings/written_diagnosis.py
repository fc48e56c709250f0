# SPDX-License-Identifier: BSD-3-Clause
"""Asks the questions of a diagnosis while vtunify writes the events."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vtrace.analysis.findings.diagnosis import DiagnosisPass
from vtrace.analysis.selection import Selection
from vtrace.analysis.source import Source
from vtrace.analysis.written_scan import WrittenScan


class WrittenDiagnosis(WrittenScan):
    """A listener of vtunify. If an estimate about the archive was wrong, the diagnosis must read the archive."""

    def __init__(self, anchor: Path, root: bool = True) -> None:
        """anchor: of an archive with the expected definitions. root: True on the rank that answers; the other ranks
        send the answers about their events to this rank. Raises FormatError."""
        expected = Source(anchor)
        self._asked = DiagnosisPass(expected, Selection(), root=root, with_samples=False)
        super().__init__(expected, self._asked.questions)
        self.order: Sequence[int] = self._asked.calls.order()

    def known(self, trace: Source) -> DiagnosisPass | None:
        """The pass, with the finished archive; None: the archive differs from the estimates."""
        if self.failed or not self.fits(trace):
            return None
        for question in self._asked.questions:
            question.trace = trace
        return self._asked
