# SPDX-License-Identifier: BSD-3-Clause
"""A finding: a diagnosed loss of time, with its place, its cause, its certainty and a command that shows it. The
sidecar of an archive keeps the findings of the whole run (vtunify --also diagnose)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.findings.kinds import kind_of
from vtrace.errors import FormatError
from vtrace.io.sidecar import sidecar
from vtrace.text import shell_command, shell_word

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

__all__ = ["Finding"]

EXACT, BOUND, ESTIMATE = "exact", "upper bound", "estimate"
"""Certainties of a loss: from recorded times; an upper bound; from a comparison that may be wrong."""
_CERTAIN, _CALLS = {EXACT: "by the recorded times"}, "by the recorded calls"
"""Words for certainties that are no words for people."""
_WHOLE_RUN = ("score",)
"""Commands that show no part of a run."""
_KEYS = "kind loss_ns share region callpath ranks culprit certainty caveats action command".split()
"""The keys of a finding in JSON."""
_LARGE = 0.05
"""The least share of a large loss."""
LEAST = 0.01
"""The least share of a finding that a diagnosis shows."""


@dataclass(frozen=True)
class Finding:
    """A diagnosed loss.

    kind: see kinds.kind_of; ValueError for others. loss_ns: the time that all threads together lose, 0 if unknown.
    share: of the time of all threads; of topdown: of all slots; of leak: of the largest heap. text: a sentence. region,
    source (file:line), callpath (names, the outermost first): of the code to look at. ranks: the processes that lose
    time (places in Trace.processes if the program has no MPI). culprit: the processes, threads or code that cause the
    loss, "" if unknown. certainty: exact, upper bound or estimate. caveats: lines about the limits of the numbers.
    processor_ns: the part of the loss that waits of threads for a processor may explain. start, stop: ns, a part of the
    run; None: open. evidence: the words of a command of vtrace, without the archive.
    archive: the archive's name for commands.
    """

    kind: str
    loss_ns: int
    share: float
    text: str
    region: str = ""
    source: str = ""
    callpath: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    culprit: str = ""
    certainty: str = EXACT
    caveats: tuple[str, ...] = ()
    processor_ns: int = 0
    start: int | None = None
    stop: int | None = None
    evidence: tuple[str, ...] = ()
    archive: str = "ARCHIVE"

    def __post_init__(self) -> None:
        kind_of(self.kind)

    @property
    def action(self) -> str:
        """What usually helps against losses of this kind, "" if that depends on the program."""
        return kind_of(self.kind).action

    def headline(self, between: str = "  ") -> str:
        """The share of the time of all threads, and the text."""
        return self.text if kind_of(self.kind).always else f"{100 * self.share:.1f} %{between}{self.text}"

    @property
    def command(self) -> str:
        """The command that shows the evidence, as a user types it in a shell."""
        if not self.evidence:
            return ""
        name, *options = self.evidence
        return f"vtrace {name} {self.archive} {shell_command(options)}".rstrip()

    @property
    def doubts(self) -> str:
        """How sure the loss is, and the caveats, as reports show them below the sentence."""
        sure = _CALLS if kind_of(self.kind).always else _CERTAIN.get(self.certainty, self.certainty)
        return "; ".join([sure, *self.caveats])

    def of_archive(self, archive: str) -> Finding:
        """The finding with another name for its archive."""
        return replace(self, archive=archive)

    def of_part(self, options: Sequence[tuple[str, str]]) -> Finding:
        """The finding with a command for a part of the run, unless the command shows another part. options: with their
        values."""
        if not self.evidence or self.evidence[0] in _WHOLE_RUN:
            return self
        words = [word for option in options if option[0] not in self.evidence for word in option]
        return replace(self, evidence=(*self.evidence, *words))

    def told(self) -> dict[str, Any]:
        """The fields that --json prints."""
        return {name: getattr(self, name) for name in _KEYS}

    def stored(self) -> dict[str, Any]:
        """The fields for JSON, without the archive's name."""
        return {name: value for name, value in asdict(self).items() if name != "archive"}

    @classmethod
    def of_stored(cls, values: dict[str, Any]) -> Finding:
        """The finding with these stored fields. Raises TypeError and ValueError for values of other types."""
        known = {field.name: field for field in fields(cls)}
        if not set(values) <= set(known):
            raise ValueError("unknown fields")
        given: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
        found = cls(**given)
        texts = (found.kind, found.text, found.region, found.source, found.culprit, found.certainty)
        words = (*found.callpath, *found.caveats, *found.evidence)
        whole = (found.loss_ns, found.processor_ns, *found.ranks)
        if not all(isinstance(text, str) for text in (*texts, *words)) or not all(isinstance(n, int) for n in whole):
            raise TypeError("findings")
        return replace(found, share=float(found.share))


def archive_word(anchor: Path) -> str:
    """The shortest name of an archive that commands take: heat for heat.trace/traces.otf2."""
    if anchor.name != "traces.otf2":
        return shell_word(anchor)
    folder = anchor.parent
    return shell_word(folder.with_suffix("") if folder.suffix == ".trace" else folder)


def largest_first(findings: Sequence[Finding]) -> list[Finding]:
    """The findings in the order in which reports show them: the largest loss first, but those of the machine and of
    the recording, which stretch the run, after losses of the program that are large in the rest of the run."""
    of_machine = [one for one in findings if kind_of(one.kind).of_machine]
    ordered = sorted(findings, key=lambda one: -one.loss_ns)
    least = _LARGE * (1 - sum(one.share for one in of_machine))
    first = [one for one in ordered if of_machine and one not in of_machine and one.loss_ns and one.share >= least]
    return first + [one for one in ordered if one not in first]


def store_findings(trace: Source, findings: Sequence[Finding], notes: Sequence[str]) -> None:
    """Writes findings and the notes about their limits beside the archive. Raises VtraceError."""
    texts = {"findings": [json.dumps(finding.stored()) for finding in findings], "notes": [*notes]}
    columns = {"loss_ns": np.array([finding.loss_ns for finding in findings], np.int64)}
    of = sidecar.identity(trace.anchor, trace.properties)
    sidecar.write(trace.anchor.parent, *sidecar.FINDINGS, of, sidecar.SidecarTable(columns, texts))


def stored_findings(trace: Source) -> list[Finding] | None:
    """The stored findings; None: there are none, or none that can be used."""
    try:
        word = archive_word(trace.path)
        texts = _stored(trace, "findings")
        return None if texts is None else [Finding.of_stored(json.loads(text)).of_archive(word) for text in texts]
    except (FormatError, KeyError, TypeError, ValueError, RecursionError):
        return None


def stored_notes(trace: Source) -> list[str] | None:
    """The lines about the limits of the stored findings; None: stored_findings has none."""
    try:
        return None if stored_findings(trace) is None else _stored(trace, "notes")
    except (FormatError, KeyError, ValueError):
        return None


def _stored(trace: Source, name: str) -> list[str] | None:
    """Texts of the stored findings; None if there are no stored findings."""
    of = sidecar.identity(trace.anchor, trace.properties)
    found = sidecar.read(trace.anchor.parent, *sidecar.FINDINGS, of)
    return None if found is None else [*found.names[name]]
