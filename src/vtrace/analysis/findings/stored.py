# SPDX-License-Identifier: BSD-3-Clause
"""Findings in the sidecar of an archive; vtunify --diagnose stores the findings of the whole run there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.findings.finding import Finding, archive_word
from vtrace.errors import FormatError
from vtrace.io.sidecar import sidecar

if TYPE_CHECKING:
    from vtrace.analysis.source import Source


def store_findings(trace: Source, findings: Sequence[Finding], notes: Sequence[str]) -> None:
    """Writes findings and the notes about their limits beside the archive. Raises VtraceError."""
    texts = {"findings": [json.dumps(finding.stored()) for finding in findings], "notes": [*notes]}
    columns = {"loss_ns": np.array([finding.loss_ns for finding in findings], np.int64)}
    of = sidecar.identity(trace.anchor, trace.properties)
    sidecar.write(trace.anchor.parent, *sidecar.FINDINGS, of, sidecar.SidecarTable(columns, texts))


def stored_findings(trace: Source) -> list[Finding] | None:
    """The stored findings; None: there are none, or none that can be used."""
    try:
        of = sidecar.identity(trace.anchor, trace.properties)
        found = sidecar.read(trace.anchor.parent, *sidecar.FINDINGS, of)
        if found is None:
            return None
        word = archive_word(trace.path)
        return [Finding.of_stored(json.loads(text)).of_archive(word) for text in found.names["findings"]]
    except (FormatError, KeyError, TypeError, ValueError, RecursionError):
        return None
