# SPDX-License-Identifier: BSD-3-Clause
"""The table of vtrace profile --metrics topdown: the shares of the slots, the bottleneck, and hints as findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vtrace.analysis.derived.event_set import EventSet
from vtrace.analysis.derived.known_events import unqualified
from vtrace.analysis.derived.topdown import CPI, SLOTS, TREE, bottleneck
from vtrace.analysis.findings.finding import ESTIMATE, Finding
from vtrace.analysis.findings.kinds import FindingKind, state
from vtrace.analysis.questions.sections import ALL
from vtrace.analysis.selection import Patterns
from vtrace.errors import UsageError
from vtrace.reports import metric_sheets
from vtrace.reports.metric_sheets import CounterRun
from vtrace.reports.sheet import Column, Row, Sheet

_TIMES = "time-running", "time-enabled"
_RELIABLE = 0.9
_LARGE = 0.1
"""A row with at least this share of all slots becomes a finding."""
_MOST = 3
_NOTE = (
    "shares of the slots of one hardware thread; with SMT, the other hardware thread may have used the lost slots",
    "short runs and multiplexed counters make the shares uncertain (reliability below 0.9)",
)

state(FindingKind("topdown", "slots of processors without useful work"))


def read(
    runs: Sequence[CounterRun], by: str, patterns: Patterns, events: EventSet, *, most: int | None
) -> tuple[Sheet, list[Finding], list[str]]:
    """Reads the events of each run once. Returns the table, hot spots first, its findings, and lines about damage.

    Raises UsageError if the runs lack the events of level 1.
    """
    wanted = _available([name for run in runs for name in run.trace.metric_members["name"].tolist()], events)
    numbers = metric_sheets.read(runs, by, patterns=patterns, wanted=wanted, events=events)
    every = [ALL] if by == "section" else [*numbers.exclusive]  # sections overlap
    whole = sum(numbers.exclusive.get(key, {}).get(SLOTS, 0.0) for key in every)
    rows: list[Row] = [_row(by, key, row, whole) for key, row in numbers.exclusive.items() if row.get(SLOTS)]
    rows.sort(key=lambda row: (-row["share"], str(row[by])))
    findings = [_finding(row, by) for row in rows if row["share"] >= _LARGE and row["bottleneck"]][:_MOST]
    kept = {node.name: node for node in TREE if node.name in wanted}
    columns = [
        Column(by, kind="path" if by == "callpath" else "text"), Column("share", "slots", "fraction"),
        *([Column(CPI, "CPI", "ratio")] if CPI in wanted else []),
        *(Column(name, name.replace("_", " "), "fraction", minor=bool(node.parent)) for name, node in kept.items()),
        Column("bottleneck", "bottleneck", "text"), Column("reliability", "reliability", "ratio"),
    ]  # fmt: skip
    made = Sheet(name="topdown", title=f"{metric_sheets.TITLES[by]} by slots", columns=columns, rows=rows)
    made.cut(len(rows) if most is None else most, "--top shows more, all with --json or --csv")
    made.notes += [finding.text for finding in findings]
    made.notes += _NOTE
    return made, findings, numbers.notes


def _available(metrics: Sequence[str], events: EventSet) -> list[str]:
    """The names of the tree, slots and times that the metrics can compute. Raises UsageError."""
    known = {*map(unqualified, metrics)}
    hint = "record with vtrace run --counters topdown on a processor of vtrace counters --cpu"
    if SLOTS not in events.events:
        raise UsageError("--metrics topdown: the trace has no events of a known processor", hint)
    tree = [node.name for node in TREE if node.name in events.events]
    found = [
        name
        for name in (SLOTS, *tree, CPI)
        if name in events.events and known.issuperset(map(unqualified, events.natives(name)))
    ]
    if not {SLOTS, "Frontend_Bound", "Bad_Speculation", "Backend_Bound", "Retiring"} <= {*found}:
        need = [native for name in tree[:4] for native in events.natives(name) if unqualified(native) not in known]
        raise UsageError(f"--metrics topdown: the trace has no metric {', '.join(dict.fromkeys(need))}", hint)
    return [*found, *(name for name in _TIMES if name in known and {*_TIMES} <= known)]


def _row(by: str, key: Any, values: dict[str, float], whole: float) -> Row:
    shares = {node.name: values[node.name] for node in TREE if node.name in values}
    node = bottleneck(shares)
    running, enabled = (values.get(name) for name in _TIMES)
    return {
        by: (list(key) or [metric_sheets.OUTSIDE]) if by == "callpath" else key,
        "share": values[SLOTS] / whole, CPI: values.get(CPI), **shares, "bottleneck": node.name if node else "",
        "reliability": running / enabled if running is not None and enabled else None,
    }  # fmt: skip


def _finding(row: Row, by: str) -> Finding:
    node = next(node for node in TREE if node.name == row["bottleneck"])
    where = " > ".join(row[by]) if by == "callpath" else row[by]
    share = row["share"] * row[node.name]
    caveats = list(_NOTE[:1])
    if row["reliability"] is not None and row["reliability"] < _RELIABLE:
        caveats.append(_NOTE[1])
    return Finding(
        kind="topdown",
        loss_ns=0,
        share=share,
        text=f"{where}: {row[node.name]:.0%} {node.name.replace('_', ' ')}: {node.hint}",
        region=where if by == "function" else "",
        callpath=tuple(row[by]) if by == "callpath" else (),
        culprit=node.name,
        certainty=ESTIMATE,
        caveats=tuple(caveats),
        evidence=("profile", "--metrics", "topdown", "--by", by),
    )
