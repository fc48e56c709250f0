# SPDX-License-Identifier: BSD-3-Clause
"""Help: Show who recorded a trace, when and how, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vtrace.commands.completion import complete_target
from vtrace.commands.stale import warn_if_stale
from vtrace.console import Console, ranges, some
from vtrace.io.archive.overview import LocationLine, Overview, find_anchor, read_overview
from vtrace.reasons import AS_PROFILE
from vtrace.text import json_text, plain, shell_command, shell_path

if TYPE_CHECKING:
    from vtrace.analysis.ledger import Ledger

_LOST_BY = "LOST_"
Pairs = list[tuple[str, str]]


@click.command()
@click.argument("target", metavar="PREFIX|ARCHIVE", shell_complete=complete_target)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--all", "everything", is_flag=True, help="Print a line for each location, however many there are.")
def command(target: str, as_json: bool, everything: bool) -> None:
    """Also show the hosts of the run, and the contents of the trace.

    \b
    Examples:
      vtrace info heat              heat.trace, or local files that are not yet unified
      vtrace info heat.trace --json
      vtrace info run/traces.otf2   an archive of any tool
    """
    anchor = find_anchor(Path(target))
    if anchor is None:
        from vtrace.unify.discover.list_files import no_archive, prefixes, resolve_prefix

        path = Path(target)
        bare = path.name in ("", "..") or not path.parent.is_dir()
        if bare or resolve_prefix(target).name not in prefixes(path.parent):
            raise no_archive(path)
        found = _local(path)
        click.echo(json_text(found, indent=2) if as_json else _local_text(found))
        return
    overview = read_overview(anchor)
    warn_if_stale(anchor, overview.vtrace.get("ABOUT"))
    for line in overview.problems:
        Console("vtrace").warn(line)
    if as_json:
        for line in _json(overview):
            click.echo(line)
    else:
        for line in _text(overview, everything):
            click.echo(line)
        word = shell_path(target)
        more = f"vtrace profile {plain(word)}" if "PROFILE" in overview.vtrace else f"vtrace view {plain(word)}"
        click.echo(f"\nnext: vtrace summary {plain(word)}, {more}")


def _data(o: Overview) -> dict[str, Any]:
    known = _ledger(o)
    return {
        "archive": str(o.archive),
        "creator": o.creator,
        "machine": o.machine,
        "start": _when(o.start),
        "seconds": o.seconds,
        "about": o.vtrace.get("ABOUT", {}),
        "cut": o.vtrace.get("CUT", {}),
        "complete": known.complete,
        "shortfalls": known.shortfalls,
        "programs": _programs(o),
        "settings": o.vtrace.get("SETTINGS", {}),
        "events": o.vtrace.get("EVENTS", {}),
        "coverage": o.vtrace.get("COVERAGE", {}),
        "not_recorded": known.rows(),
        "notes": known.notes,
        "clocks": o.vtrace.get("CLOCKS", {}),
        "samples": o.vtrace.get("SAMPLES", {}),
        "regions": o.regions,
        "communicators": o.communicators,
    }


def _programs(o: Overview) -> list[dict[str, Any]]:
    """One entry per command line. ranks: a text such as 0-3,5; empty for processes without a rank."""
    from vtrace.analysis.programs import programs

    return [
        {
            "ranks": ranges(one.ranks),
            "processes": len(one.ranks) + one.others,
            "executable": one.executable,
            "command": one.command,
        }
        for one in programs(o.locations.programs())
    ]


def _ledger(o: Overview) -> Ledger:
    from vtrace.analysis.ledger import read_ledger

    of = o.locations
    return read_ledger(o.anchor, o.properties, coverage=o.vtrace.get("COVERAGE", {}), ids=of.ids, events=of.events)


def _json(o: Overview) -> Iterator[str]:
    """The document in pieces, a line per location: the whole text may be too large for memory."""
    yield json_text(_data(o), indent=2).removesuffix("\n}") + ',\n  "locations": ['
    last = len(o.locations) - 1
    for row, location in enumerate(o.locations):
        yield f"    {json_text(_location_data(location))}{',' if row < last else ''}"
    yield "  ]\n}"


def _location_data(location: LocationLine) -> dict[str, Any]:
    from vtrace.reports.location_lines import COUNTS, TIMES

    known = location.properties
    data = {"id": location.id, "name": location.name, "process": location.process, "host": location.host}
    times = {word: known[key] / 1e9 if key in known else None for key, word in TIMES.items()} if known else {}
    counts: dict[str, Any] = {word: known.get(key, 0) for key, word in COUNTS.items()} if known else {}
    if known:
        by = {key.removeprefix(_LOST_BY): n for key, n in sorted(known.items()) if key.startswith(_LOST_BY)}
        counts |= {"lost_by": by, "limit": bool(known.get("STOPPED")), "died": bool(known.get("DIED"))}
        counts |= {"dropped": known.get("DROPPED", 0), "unknown": bool(known.get("UNKNOWN"))}
    return data | {"events": location.events} | times | counts


def _text(o: Overview, everything: bool) -> Iterator[str]:
    from vtrace.analysis.programs import programs
    from vtrace.reports import location_lines

    command_lines, known = programs(o.locations.programs()), _ledger(o)
    yield _heading(str(o.archive))
    yield from _aligned([pair for pair in _about(o, known) if pair[0] != "command" or len(command_lines) < 2])
    if events := o.vtrace.get("EVENTS", {}):
        yield "\n" + _heading("Events")
        yield from _aligned([(kind, f"{n:,}") for kind, n in events.items()], right=True)
    if len(command_lines) > 1:
        yield "\n" + _heading("Programs")
        rows = [[one.processes, one.executable, one.command] for one in command_lines]
        yield from _table([["processes", "executable", "command"], *rows], left=3)
    yield from (f"  note: {plain(note)}" for note in known.notes)
    if known.intervals.rows:
        yield "\n" + _heading("Not recorded")
        yield from _table(_sums(o, known))
    yield "\n" + _heading("Locations")
    yield from location_lines.lines(o.locations, everything)


def _sums(o: Overview, known: Ledger) -> list[list[str]]:
    """A head and a row per class and reason. The share is one of the time of all threads up to the last known moment.
    Unknown times and shares are empty; unknown counts read "unknown"."""
    from vtrace.analysis.ledger import UNKNOWN

    resolution, zero = o.clock
    last = max(o.seconds, (int(known.intervals["to"].max(initial=zero)) - zero) / resolution)
    whole = max(1e-9, last * o.locations.threads)
    rows = [["class", "reason", "locations", "from s", "seconds", "share", "events"]]
    for row in known.sums.records():
        seconds, since = row["ns"] / resolution, max(0, row["first"] - zero) / resolution
        known_times = [f"{seconds:.6g}", f"{100 * seconds / whole:.3g} %"] if row["ns"] >= 0 else ["", ""]
        events = "unknown" if row["count"] == UNKNOWN else f"{row['count']:,}"
        times = [f"{since:.6g}", *known_times, events]
        rows.append([row["class"], row["reason"], f"{row['locations']:,}", *times])
    return rows


def _table(rows: list[list[str]], left: int = 2) -> Iterator[str]:
    """Aligned lines of a head and rows. left: number of first columns to align to the left."""
    shown = [[plain(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        cells = zip(row, widths, strict=True)
        yield "  " + "  ".join(c.ljust(w) if at < left else c.rjust(w) for at, (c, w) in enumerate(cells)).rstrip()


def _about(o: Overview, known: Ledger) -> Pairs:
    from vtrace.analysis.cut_line import cut_line

    about, coverage = o.vtrace.get("ABOUT", {}), o.vtrace.get("COVERAGE", {})
    who = " by " + about["user"] if about.get("user") else ""
    pairs = [
        ("command", shell_command(about.get("command", []))),
        ("recorded", f"{_when(o.start)}{who}, {about.get('recorded_by') or o.creator}"),
        ("directory", about.get("directory", "")),
        ("unified", f"{about['unified_by']} on {about['unified_on']}" if about else ""),
        ("hosts", _some(o.locations.hosts)),
        ("processes", f"{o.locations.processes}, locations {len(o.locations)}, regions {o.regions}"),
        ("communicators", _some(o.communicators)),
        ("time", f"{o.seconds:.6g} s, clock {about['clock']}" if about else f"{o.seconds:.6g} s"),
        ("cut", cut_line(o.vtrace)),
        ("profile", AS_PROFILE if "PROFILE" in o.vtrace else ""),
        ("iterations", _iterations(o.vtrace.get("ITERATIONS", {}), o.vtrace.get("SETTINGS", {}))),
        ("clocks", _clocks(o.vtrace.get("CLOCKS", {}))),
        ("repair", _repair(o.vtrace.get("CLOCKS", {}))),
        ("MPI", about.get("shim.mpi", "")),
        ("settings", " ".join(f"{key}={value}" for key, value in o.vtrace.get("SETTINGS", {}).items())),
        ("missing", _ranks(about.get("missing_ranks"))),
        ("complete", _complete(known)),
        ("coverage", _coverage(coverage, known)),
        ("samples", _samples(o.vtrace.get("SAMPLES", {}), o.vtrace.get("SETTINGS", {}))),
    ]
    return [(key, value) for key, value in pairs if value]


def _iterations(known: dict[str, int], settings: dict[str, str]) -> str:
    if not known:
        return ""
    rule = settings.get("VT_KEEP", "")
    own = ", of each thread its own" if "slowest" in rule.lower() else ""
    kept = f"{known['all'] - known['left_out']:,} of {known['all']:,} of {settings.get('VT_ITERATION', '')}"
    return f"{kept} in full (VT_KEEP={rule}{own}); of the others calls that communicate"


def _ranks(missing: str | None) -> str:
    return f"{'rank' if missing.isdigit() else 'ranks'} {missing}" if missing else ""


def _complete(known: Ledger) -> str:
    from vtrace.analysis.ledger import left_out_by

    if known.complete is None:
        return ""
    if not known.complete:
        return "no: " + "; ".join(known.shortfalls)
    settings = left_out_by(known)
    return f"yes, except events excluded by {' and '.join(settings)}" if settings else "yes"


def _clocks(known: dict[str, Any]) -> str:
    """The error of times between hosts; empty for a single clock."""
    if known.get("count", 1) < 2:
        return ""
    parts = [f"{known['count']}, times are those of {known['reference']}"]
    if known["compared"]:
        parts.append(f"compared {some(known['measured'], 'time')}, within {known['error_ns'] / 1000:.1f} us")
    if by_time := known["count"] - 1 - known["compared"]:
        parts.append(f"{by_time} aligned by real time only")
    return ", ".join(parts)


def _repair(known: dict[str, Any]) -> str:
    r = known.get("repair")
    if not r:
        return ""
    messages = f"{r['reversed_messages']:,} of {r['messages']:,} messages"
    collectives = f"{r['reversed_collectives']:,} of {r['collectives']:,} collective calls"
    ran = f"{messages} and {collectives} ran backwards"  # an end before its start, by the clocks of two hosts
    return f"{ran}, {r['left']:,} after {r['corrections']:,} corrections of at most {r['largest_ns'] / 1000:.1f} us"


_EARLY = {
    "NO_TABLE": "in code without an unwind table", "NO_RULE": "where the unwind table has no rule",
    "STACK": "at the end of the known stack", "DEPTH": "after 512 frames",
}  # fmt: skip


def _samples(known: dict[str, Any], settings: dict[str, Any]) -> str:
    """The rate of the samples, and their missing parts."""
    if not known:
        return ""
    parts = [f"{known['samples']:,}"]
    if known.get("weight_ns") and known.get("counted"):
        clock = "elapsed" if settings.get("VT_SAMPLE_CLOCK") == "wall" else "CPU"
        rate = known["counted"] / (known["weight_ns"] / 1e9)
        parts.append(f"{rate:.4g} per second of {clock} time (VT_SAMPLE_RATE={settings.get('VT_SAMPLE_RATE', '')})")
    if known.get("overruns"):
        parts.append(f"{some(known['overruns'], 'expiration')} of timers passed without a sample of their own")
    early = {reason: count for reason, count in known.get("early", {}).items() if count}
    if early:
        where = ", ".join(f"{count:,} {_EARLY.get(reason, reason)}" for reason, count in early.items())
        parts.append(f"{some(sum(early.values()), 'stack')} without outermost frames: {where}")
    if known["lost"]:
        parts.append(f"{known['lost']:,} lost")
    return "; ".join(parts)


def _coverage(coverage: dict[str, Any], known: Ledger) -> str:
    from vtrace.analysis.ledger import coverage_line

    return coverage_line(known, {"unknown": 0, "dropped": 0} | coverage) if coverage else ""


def _local(prefix: Path) -> dict[str, Any]:
    """Facts about the local files of a run that is not yet unified. Raises VtraceError for damaged files."""
    from vtrace.unify.discover.discover import find_run
    from vtrace.unify.discover.list_files import resolve_prefix

    prefix = resolve_prefix(str(prefix))
    notes: list[str] = []
    run = find_run(prefix, True, notes.append)
    first = run.processes[0].head
    files = run.local_files()
    return {
        "prefix": str(prefix),
        "start": _when(min(process.head.start for process in run.processes)),
        "tool": first.tool,
        "processes": len(run.processes),
        "hosts": sorted({process.head.host for process in run.processes}),
        "files": len(files),
        "bytes": sum(path.stat().st_size for path in files if path.exists()),
        "missing_ranks": ranges(run.missing),
        "running": [process.label for process in run.running],
        "files_of_other_runs": [path.name for path in run.others],
        "problems": notes,
        "next": f"vtunify {shell_path(prefix)}",
    }


def _local_text(found: dict[str, Any]) -> str:
    pairs = [
        ("recorded", f"{found['start']}, {found['tool']}"),
        ("hosts", _some(found["hosts"])),
        ("processes", str(found["processes"])),
        ("files", f"{found['files']}, {found['bytes']:,} bytes"),
        ("missing", _ranks(found["missing_ranks"])),
        ("running", _some(found["running"])),
        ("other runs", _some(found["files_of_other_runs"])),
        ("problems", "; ".join(found["problems"])),
    ]
    lines = _aligned([(key, value) for key, value in pairs if value])
    first, last = f"{plain(found['prefix'])}: local files, not unified yet", f"next: {plain(found['next'])}"
    return "\n".join([first, *lines, last])


def _heading(text: str) -> str:
    return click.style(plain(text), bold=True)


def _aligned(pairs: Pairs, right: bool = False) -> list[str]:
    """Lines of key and value, in columns. right: align values to the right."""
    shown = [(plain(key), plain(value)) for key, value in pairs]
    width = max((len(key) for key, _ in shown), default=0)
    numbers = max((len(value) for _, value in shown), default=0) if right else 0
    return [f"  {key.ljust(width)}  {value.rjust(numbers)}" for key, value in shown]


def _some(names: Iterable[str], most: int = 8) -> str:
    known = list(names)
    return ", ".join(known[:most]) + (f" and {len(known) - most} more" if len(known) > most else "")


def _when(ns: int | None) -> str:
    return datetime.fromtimestamp(ns // 10**9).astimezone().isoformat(" ") if ns else "at an unknown time"
