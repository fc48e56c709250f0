# SPDX-License-Identifier: BSD-3-Clause
"""Asks the questions of a diagnosis while vtunify writes the events."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from vtrace.analysis.findings.diagnosis import DiagnosisPass
from vtrace.analysis.selection import Selection
from vtrace.analysis.source import Source
from vtrace.analysis.written_scan import WrittenScan
from vtrace.io.common.listener import Listener


class WrittenDiagnosis:
    """A listener of vtunify. If an expectation about the archive was wrong, the diagnosis must read the archive."""

    def __init__(self, anchor: Path) -> None:
        """anchor: of an archive that has the expected definitions. Raises FormatError."""
        expected = Source(anchor)
        self._asked = DiagnosisPass(expected, Selection())
        self._scan = WrittenScan(expected, self._asked.questions)
        self.order: Sequence[int] = self._asked.calls.order()

    def location(self, id: int) -> AbstractContextManager[Listener]:
        """The listener for a location; ids of vtunify are rows."""
        return self._scan.location(id)

    def known(self, trace: Source) -> DiagnosisPass | None:
        """The pass, with the finished archive; None: the archive is another one than expected."""
        if self._scan.failed or not self._scan.fits(trace):
            return None
        self._scan.end()
        for question in self._asked.questions:
            question.trace = trace
        return self._asked
