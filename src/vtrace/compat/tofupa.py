# SPDX-License-Identifier: BSD-3-Clause
"""The files of Tofu PA (guide, 5.2.6) from an archive with its sections. Ports are the node's network interfaces,
whose statistics were recorded as counters net/INTERFACE/FIELD."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vtrace.analysis.questions.sections import TOFU, Sections
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Table
from vtrace.errors import UsageError, VtraceError

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_CREDITS = tuple(f"TxVc{channel}ZeroCreditCount" for channel in range(4))
FIELDS = {
    "NumSendTLP": "tx_packets", "ByteSendTLP": "tx_bytes", "NumReceiveTLP": "rx_packets", "ByteReceiveTLP": "rx_bytes",
}  # fmt: skip
"""Tofu PA information -> the statistic of a network interface. The others have no such statistic."""
_TLP = (*FIELDS,)
GROUPS = {
    "STD": (*_CREDITS, *_TLP), "CreditCount": _CREDITS, "ZeroCreditCount": _CREDITS, "TLP": _TLP, "SendTLP": _TLP[:2],
    "ReceiveTLP": _TLP[2:], "ByteTLP": _TLP[1::2], "NumTLP": _TLP[::2],
}  # fmt: skip
"""Table 5.2."""
_MOST_REGIONS = 4096
_COUNTER = re.compile(r"net/(?P<port>[^/]+)/(?P<field>\w+)")
_REGION = re.compile(r"\d{1,4}", re.ASCII)
_NONE = "-"


@dataclass
class TofuSettings:
    """names: of FJ_TOFUPA_PA; regions: of FJ_TOFUPA_MAXREGION; iterations: of FJ_TOFUPA_MAXITERATION, 0: sums."""

    names: tuple[str, ...] = GROUPS["STD"]
    regions: int = _MOST_REGIONS
    iterations: int = 0

    @classmethod
    def of_environment(cls, environ: Mapping[str, str]) -> TofuSettings:
        """The settings of the environment's variables (guide, 5.2.4). Raises UsageError."""
        found: dict[str, None] = {}
        for word in re.split(r"[\s,:]+", environ.get("FJ_TOFUPA_PA", "").strip() or "STD"):
            if word not in GROUPS and word not in GROUPS["STD"]:
                hint = f"one of {', '.join(GROUPS)}, {', '.join(GROUPS['STD'])}"
                raise UsageError(f"FJ_TOFUPA_PA={word}: unknown", hint)
            found |= dict.fromkeys(GROUPS.get(word, (word,)))
        names = tuple(name for name in GROUPS["STD"] if name in found)
        regions = _number(environ, "FJ_TOFUPA_MAXREGION", default=_MOST_REGIONS, least=1, most=_MOST_REGIONS)
        return cls(names, regions, _number(environ, "FJ_TOFUPA_MAXITERATION", default=0, least=0, most=2**31 - 1))


def _number(environ: Mapping[str, str], name: str, default: int, least: int, *, most: int) -> int:
    text = environ.get(name, "") or str(default)
    if not text.isdecimal() or not least <= int(text) <= most:
        raise UsageError(
            f"{name}={text}: not a number from {least} to {most}", f"set {name} to such a number, or unset it"
        )
    return int(text)


@dataclass
class TofuFile:
    """The file of a node. notes: discarded regions and calls, one line each."""

    address: str
    text: str
    notes: list[str] = field(default_factory=list)


class _NodeOfRanks(NamedTuple):
    number: int
    rank: int
    locations: list[int]


def files(trace: Source, settings: TofuSettings) -> list[TofuFile]:
    """The file of each node with MPI processes. Reads the events once. Raises VtraceError if the archive has neither
    sections of Tofu PA nor statistics of network interfaces."""
    counters = {
        str(name): row for row, name in enumerate(trace.metric_members["name"].tolist()) if _COUNTER.fullmatch(name)
    }
    if not counters and not any(str(name).startswith(TOFU) for name in trace.metric_members["name"].tolist()):
        hint = "call fj_tofupa_start and set FJ_TOFUPA_LEVEL: vtrace help sections"
        raise VtraceError(f"{trace.archive}: no sections of Tofu PA in this trace", hint)
    question = Sections(trace, [*counters.values()], tofu=True)
    ask(trace, [question])
    table = question.answer()
    ports = [*dict.fromkeys(_COUNTER.sub(r"\g<port>", name) for name in counters)]
    return [_file(table, node, ports, settings) for node in _nodes(trace, table, [*counters])]


def _nodes(trace: Source, table: Table, counters: list[str]) -> Iterator[_NodeOfRanks]:
    """The nodes, each with the process that has read the counters, by default the first one."""
    processes, of = trace.processes, trace.places.process[table["location"]]
    read = np.zeros(table.rows, bool)
    for name in counters:
        read |= ~np.isnan(table[f"@{name}"])
    hosts: dict[str, list[int]] = {}
    for row in np.flatnonzero(processes["rank"] >= 0).tolist():
        hosts.setdefault(str(processes["host"][row]), []).append(row)
    for place, rows in enumerate(hosts.values()):
        chosen = next((row for row in rows if read[of == row].any()), rows[0])
        yield _NodeOfRanks(
            place, int(processes["rank"][chosen]), np.flatnonzero(trace.places.process == chosen).tolist()
        )


def _file(table: Table, node: _NodeOfRanks, ports: list[str], settings: TofuSettings) -> TofuFile:
    address = [str(node.number), "0", "0", "0", "0", "0"]
    made = TofuFile("-".join(address), "")
    lines = [
        f"# NODE_ADDR {' '.join(address)}", f"# LOGICAL_ADDR {node.number}", f"# RANK {node.rank}",
        f"# PORT {' '.join([str(len(ports)), *ports])}",
        f"# PA {' '.join([str(len(settings.names)), *settings.names])}",
    ]  # fmt: skip
    mine = np.isin(table["location"], node.locations)
    names = [name.removeprefix(TOFU) if name.startswith(TOFU) else "" for name in table.sections]
    regions = sorted((int(name), place) for place, name in enumerate(names) if _REGION.fullmatch(name))
    for region, place in regions:
        of = table.take(np.flatnonzero(mine & (table["section"] == place)))
        if not of.rows:
            continue
        if region >= settings.regions:
            made.notes.append(f"region {region} is discarded: FJ_TOFUPA_MAXREGION is {settings.regions}")
            continue
        lines += _lines(of, region, ports=ports, settings=settings, notes=made.notes)
    made.text = "\n".join([*lines, "# EOF"]) + "\n"
    return made


def _lines(of: Table, region: int, ports: list[str], settings: TofuSettings, *, notes: list[str]) -> Iterator[str]:
    """The lines of a region: the sum of its calls, or each call up to the limit."""
    columns = [
        of[f"@net/{port}/{FIELDS[name]}"] if name in FIELDS and f"@net/{port}/{FIELDS[name]}" in of else None
        for port in ports for name in settings.names
    ]  # fmt: skip
    if not settings.iterations:
        yield " ".join([str(region), *(_value(None if column is None else column.sum()) for column in columns)])
        return
    if of.rows > settings.iterations:
        over = of.rows - settings.iterations
        notes.append(
            f"region {region}: {over:,} of {of.rows:,} calls are discarded: FJ_TOFUPA_MAXITERATION is"
            f" {settings.iterations}"
        )
    for call in range(min(of.rows, settings.iterations)):
        values = (_value(None if column is None else column[call]) for column in columns)
        yield " ".join([f"{region}:{call + 1}", *values])


def _value(value: float | None) -> str:
    return _NONE if value is None or value != value else str(int(value))
