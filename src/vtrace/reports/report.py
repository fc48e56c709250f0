# SPDX-License-Identifier: BSD-3-Clause
"""The HTML report: one file that needs no other file and no network. Names are data, escaped in HTML and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from vtrace import __version__
from vtrace.analysis.definition_tables import source_text
from vtrace.analysis.findings.finding import stored_findings
from vtrace.analysis.ledger import UNKNOWN
from vtrace.analysis.questions.collectives import by_operation, operation_text
from vtrace.analysis.questions.costs import Costs
from vtrace.analysis.questions.io_files import reduce_io
from vtrace.analysis.questions.timeline_data import location_names, span
from vtrace.analysis.selection import Patterns, Selection
from vtrace.analysis.trace import Trace
from vtrace.console import some
from vtrace.errors import VtraceError
from vtrace.io.common.outfile import complete
from vtrace.reports import compared_runs, inside_lists, profile_sheets, report_numbers, sample_sheets, section_sheets
from vtrace.reports.metric_sheets import counters
from vtrace.reports.profile_sheets import ProfileNumbers
from vtrace.reports.report_numbers import ReportNumbers
from vtrace.reports.sheet import Column
from vtrace.text import html_text

PAGE = Path(__file__).with_name("page")
_MOST_REGIONS, _MOST_FILES, _MOST_LOCATIONS = 1000, 500, 200


class Time(int):
    """ns, shown as s."""


class Size(int):
    """Bytes."""


def plotly() -> str:
    """The script of the package plotly. Raises VtraceError if the package is not installed."""
    found = find_spec("plotly")
    for place in (found.submodule_search_locations if found else None) or []:
        script = Path(place) / "package_data" / "plotly.min.js"
        if script.is_file():
            return script.read_text(encoding="utf-8")
    raise VtraceError("plotly is not installed", "pip install 'vtrace-otf2[report]'")


def write(
    numbers: ReportNumbers, title: str, path: Path, names: Sequence[str] = (), *, others: Sequence[ReportNumbers] = ()
) -> None:
    """Writes the report. The file appears only when the report is complete. Raises VtraceError without plotly.

    names: of all runs, if others, further runs, are compared with this one."""
    if others:
        compared_runs.add(names, [numbers, *others])
    text = page(numbers, title, _runs(names, [numbers, *others]) if others else "")
    with complete(path) as file:
        file.write(text)


def page(numbers: ReportNumbers, title: str, runs: str = "") -> str:
    """The text of the whole file. runs: the section that compares several runs."""
    holes = {
        "TITLE": html_text(title), "STYLE": (PAGE / "report.css").read_text(),
        "SCRIPT": (PAGE / "report.js").read_text(), "PLOTLY": plotly(),
        "DATA": json_in_html(numbers.charts), "VERSION": __version__, "CAVEATS": _caveats(numbers),
        "NOTES": "".join(f"<p class=note>{html_text(note)}</p>" for note in numbers.notes),
        "ABOUT": _pairs(report_numbers.about(numbers.trace, numbers.window)), "COVERAGE": _coverage(numbers),
        "FIRST": "" if runs else _findings(numbers) + _lead(numbers),
        "OF_FIRST": _section("first", "Findings of the first run", _findings(numbers) + _lead(numbers)) if runs else "",
        "PROFILE": _profile(numbers), "COLLECTIVES": _collectives(numbers),
        "SAMPLES": _samples(numbers), "RUNS": runs, "SECTIONS": _program_sections(numbers),
        "FILES": _files(numbers), "MATRIX": _matrix(numbers), "HEAP": _heap(numbers), "COUNTERS": _counters(numbers),
        "MARKERS": _markers(numbers),
    }  # fmt: skip
    parts = (PAGE / "report.html").read_text().split("@")
    return "".join(holes[part] if place % 2 else part for place, part in enumerate(parts))


def json_in_html(data: Any) -> str:
    """JSON inside a script element: no name can end the element or begin a comment."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _pairs(pairs: Iterable[tuple[str, str]]) -> str:
    rows = "".join(f"<tr><th scope=row>{html_text(name)}<td>{html_text(text)}" for name, text in pairs)
    return f"<table class=pairs>{rows}</table>"


def table(name: str, head: Sequence[str], rows: Iterable[Sequence[Any]], total: int = 0) -> str:
    """A table that report.js can sort. total: the number of rows, if not all are given."""
    body, count = [], 0
    for row in rows:
        body.append("<tr>" + "".join(map(_cell, row)))
        count += 1
    heads = "".join(f"<th scope=col><button type=button>{html_text(word)}</button>" for word in head)
    more = f"<p>The first {count:,} of {total:,}.</p>" if total > count else ""
    return (
        f"<div class=wide><table class=sortable id={name}><thead><tr>{heads}</thead>"
        f"<tbody>{''.join(body)}</tbody></table></div>{more}"
    )


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return f"<td>{html_text(value)}"
    shown = _shown(value)
    return f"<td class=n data-v={float(value):.9g}>{shown}" if shown else "<td>"


def _shown(value: Any) -> str:
    if isinstance(value, Time):
        return f"{value / 1e9:,.6f}"
    if isinstance(value, float):
        return f"{value:.3g}" if np.isfinite(value) else ""
    return f"{int(value):,}"


def _lead(numbers: ReportNumbers) -> str:
    """The report in one sentence."""
    line = numbers.charts["timeline"]
    seconds = np.array(line["seconds"]).reshape(len(line["rows"]), -1).sum(axis=0)
    inside = float(seconds[:-1].sum())
    if not inside:
        made = sample_sheets.samples(numbers.trace, numbers.window, numbers.costs)
        text = sample_sheets.line(made, numbers.trace, numbers.costs) or "No calls were recorded here"
        return f"<p class=lead>{html_text(text)}.</p>"
    order = [row for row in np.argsort(-seconds[:-1]).tolist() if seconds[row] > inside / 1000]
    parts = [f"{100 * seconds[row] / inside:.3g} % {numbers.charts['classes'][row]}" for row in order]
    where = some(line["locations"], "location")
    return f"<p class=lead>Of {span(inside * 1e9)} in calls on {where}: {', '.join(parts)}.</p>"


def _findings(numbers: ReportNumbers) -> str:
    """The findings of vtrace diagnose; of the whole run those that vtunify --diagnose has stored, if it has."""
    trace, window = numbers.trace, numbers.window if numbers.window.text else Selection()
    if trace.recorded_profile:
        return ""
    stored = stored_findings(trace) if window == Selection() else None
    found = trace.diagnosis(window).findings if stored is None else stored
    items = "".join(
        f"<li>{html_text(one.headline(': '))} <small>{html_text(one.doubts)}</small>"
        f" <code>{html_text(one.command)}</code>"
        for one in found
    )
    return f"<ol class=findings aria-label=Findings>{items}</ol>" if items else ""


def _coverage(numbers: ReportNumbers) -> str:
    trace = numbers.trace
    found = trace.coverage().take(numbers.window.threads(trace))
    if not np.any(np.isfinite(found["seconds"])):
        return "<p>The archive has no data about events that were not recorded.</p>"
    text = f"{report_numbers.missing(trace, numbers.window)}."
    names = location_names(trace)
    head = ("location", "recorded s", "off s", "flushing s", "lost", "times clamped")
    rows = (
        (names[r["location"]], r["seconds"], r["off"], r["flushing"], max(0, r["lost"]), max(0, r["clamped"]))
        for r in found.take(slice(_MOST_LOCATIONS)).records()
    )
    each = table("coverage", head, rows, found.rows)
    return f"<p>{text}</p>{_not_recorded(numbers)}<details><summary>Each location</summary>{each}</details>"


def _caveats(numbers: ReportNumbers) -> str:
    """The caveats, above all numbers."""
    lines = numbers.window.caveats(numbers.trace)
    items = "".join(f"<li>{html_text(line)}" for line in lines)
    return f'<ul class=caveats role=note aria-label="Events that were not recorded">{items}</ul>' if lines else ""


def _not_recorded(numbers: ReportNumbers) -> str:
    """The ledger's sums, by class and reason."""
    trace, window = numbers.trace, numbers.window
    sums = trace.not_recorded(**window.arguments()).sums
    if not sums.rows:
        return ""
    head = ("class", "reason", "locations", "from s", "time s", "events")
    rows = (
        (r["class"], r["reason"], r["locations"], Time(at),
         Time(r["ns"] * 10**9 // trace.resolution) if r["ns"] >= 0 else "",
         "unknown" if r["count"] == UNKNOWN else r["count"])
        for r, at in zip(sums.records(), trace.ns(sums["first"]).tolist(), strict=True)
    )  # fmt: skip
    return table("not-recorded", head, rows)


def _profile(numbers: ReportNumbers) -> str:
    trace = numbers.trace
    found, known = report_numbers.regions(trace, numbers.profile), trace.regions
    head = (
        "region", "class", "calls", "exclusive s", "inclusive s", "mean s", "min s", "max s", "imbalance", "source",
    )  # fmt: skip
    rows = []
    for r in found.take(slice(_MOST_REGIONS)).records():
        at = r["region"]
        times = (Time(r[name]) for name in ("exclusive", "inclusive"))
        mean = Time(r["total"] // max(1, r["calls"]))
        kind = trace.regions.classes[known["class"][at]]
        rows.append(
            (
                str(known["name"][at]),
                kind,
                r["calls"],
                *times,
                mean,
                Time(r["min"]),
                Time(r["max"]),
                r["imbalance"],
                source_text(known, at),
            )
        )
    return table("profile", head, rows, found.rows)


def _samples(numbers: ReportNumbers) -> str:
    """The program's own code by samples: functions and loops."""
    trace, costs = numbers.trace, numbers.costs
    made = sample_sheets.samples(trace, numbers.window, costs)
    if costs is None or not made.rows:
        return ""
    head = ("exclusive s", "inclusive s", "%", "\u00b1 %", "samples", "min s", "mean s", "max s of a rank")

    def rows(by: str) -> list[tuple[Any, ...]]:
        found = profile_sheets.sheet(
            ProfileNumbers(trace=trace, window=numbers.window, patterns=Patterns(), costs=costs, by=by, notes=[])
        )
        return [
            (row[by], *(Time(row[name]) for name in ("exclusive_ns", "inclusive_ns")), 100 * row["share"],
             100 * row["share_error"], row["samples"], *(Time(row[f"{name}_ns"]) for name in ("min", "mean", "max")),
             *((row["class"], row["defined"]) if by == "function" else ()))
            for row in found.rows if (row["level"] if by == "loop" else row["source"] == "samples" and row["samples"])
        ]  # fmt: skip

    functions, loops = rows("function"), rows("loop")
    text = f"<p>{html_text(sample_sheets.line(made, trace, costs))}. {html_text(made.notes[0])}.</p>"
    text += table("samples", ("function", *head, "class", "source"), functions[:_MOST_REGIONS], len(functions))
    if loops:
        text += "<h3>Loops, each without those inside</h3>"
        text += table("loops", ("loop", *head), loops[:_MOST_REGIONS], len(loops))
    return _section("samples", "Inside the program", text + _inside_lists(trace, costs))


def _inside_lists(trace: Trace, costs: Costs) -> str:
    """CPU times, source files, and the callers of functions, in which a name can be searched."""
    times = inside_lists.times(trace)
    parts = ("", " mean", " min", " max")
    head = ("level", *(f"{what} s{part}" for what in ("elapsed", "user", "system") for part in parts))
    rows = ((one.level, *(Time(ns) for values in one[1:] for ns in values)) for one in times)
    text = (
        "<h3>Elapsed and CPU time, and its spread over ranks or threads</h3>" + table("times", head, rows)
        if times
        else ""
    )
    files = inside_lists.source_files(trace, costs)
    if files:
        shown = ((file, samples, Time(ns)) for file, samples, ns in files[:_MOST_FILES])
        text += "<h3>Source files</h3><p>vtrace profile --source FILE shows the lines of one.</p>"
        text += table("sources", ("file", "samples", "exclusive s"), shown, len(files))
    pairs = inside_lists.callers(trace, costs)
    if pairs:
        shown_pairs = ((caller, called, samples, Time(ns)) for caller, called, samples, ns in pairs[:_MOST_REGIONS])
        text += "<h3>Callers and calls</h3>"
        text += "<label>Find <input type=search data-finds=callers placeholder='part of a name'></label>"
        text += table("callers", ("caller", "function", "samples", "inclusive s"), shown_pairs, len(pairs))
    return text


def _program_sections(numbers: ReportNumbers) -> str:
    """The tables of vtrace profile --by section."""
    text = ""
    for sheet in section_sheets.page_sheets(numbers.trace, numbers.window, _MOST_REGIONS):
        columns = [column for column in sheet.columns if column.head]
        places = range(len(sheet.rows)) if sheet.shown is None else sheet.shown
        rows = [[_value(column, sheet.rows[place].get(column.key)) for column in columns] for place in places]
        made = table(sheet.name.replace("_", "-"), [column.head for column in columns], rows, len(sheet.rows))
        text += f"<h3>{html_text(sheet.title)}</h3>{made}"
    return _section("sections", "Sections of the program", text) if text else ""


def _value(column: Column, value: Any) -> Any:
    """The value of a row of a sheet as a cell."""
    if value is None:
        return column.missing
    if column.kind == "ns":
        return Time(value)
    if column.kind in ("text", "path"):
        return str(value)
    return 100 * float(value) if column.kind == "fraction" else value


def _runs(names: Sequence[str], runs: Sequence[ReportNumbers]) -> str:
    """How the other runs differ from the first one, by rank and by function; report.js draws the charts."""
    found = compared_runs.of(runs, "function")
    numbers = range(1, len(runs) + 1)
    head = (
        "function", *(f"difference s {number}" for number in numbers[1:]),
        *(f"{what} {number}" for number in numbers for what in ("exclusive s", "%")),
    )  # fmt: skip

    def cells(row: dict[str, Any], number: int) -> tuple[Any, Any]:
        ns = row[f"exclusive_ns_{number}"]
        return ("", "") if ns is None else (Time(ns), 100 * row[f"share_{number}"])

    def more(row: dict[str, Any], number: int) -> int:
        return (row[f"exclusive_ns_{number}"] or 0) - (row["exclusive_ns_1"] or 0)

    order = sorted(found.rows, key=lambda row: -max(abs(more(row, number)) for number in numbers[1:]))
    rows = [
        (row["function"], *(Time(more(row, number)) for number in numbers[1:]),
         *(cell for number in numbers for cell in cells(row, number)))
        for row in order[:_MOST_REGIONS]
    ]  # fmt: skip
    hole = "".join(
        f"<li>{html_text(name)}: {span(run.window.ends(run.trace)[1] - run.window.ends(run.trace)[0])}, "
        f"{some(run.trace.processes.rows, 'process', 'processes')}, {some(run.trace.locations.rows, 'location')}"
        for name, run in zip(names, runs, strict=True)
    )
    text = (PAGE / "runs.html").read_text().replace("@RUNS@", hole)
    text = text.replace("@DIFFERENCES@", "".join(_difference(runs, names, at) for at in range(1, len(runs))))
    return _section("runs", "Comparison", text + table("runs-table", head, rows, len(found.rows)))


def _difference(runs: Sequence[ReportNumbers], names: Sequence[str], at: int) -> str:
    """How the run `at` differs from the first one: a sentence, and a table by rank."""
    compared, classes = runs[0].charts["compared"], [*runs[0].charts["classes"], "outside of calls"]
    first, other = (compared["class_seconds"][place] for place in (0, at))
    by_class = [(name, after - before) for name, before, after in zip(classes, first, other, strict=True)]
    sizes = sorted(by_class, key=lambda one: -abs(one[1]))
    parts = [f"{name} {value:+.4g} s" for name, value in sizes if abs(value) * 1000 > abs(sizes[0][1])]
    ranks = compared["ranks"][at - 1]
    used = [n for n in range(len(classes)) if any(seconds[n] for seconds in ranks["seconds"])]
    rows = (
        (name, *(Time(round(seconds[n] * 1e9)) for n in used))
        for name, seconds in zip(ranks["rows"], ranks["seconds"], strict=True)
    )
    made = table(f"runs-ranks-{at}", ("rank", *(f"{classes[n]} s" for n in used)), rows)
    said = html_text(f"{names[at]} against {names[0]}, all locations: {', '.join(parts) or 'the same times'}.")
    return f"<p class=lead>{said}</p><details><summary>{html_text(names[at])} by rank</summary>{made}</details>"


def _collectives(numbers: ReportNumbers) -> str:
    found = by_operation(numbers.collectives)
    if not found.rows:
        return ""
    names = [*numbers.trace.comms["name"].tolist(), ""]
    rows = [
        (
            operation_text(r["op"]),
            str(names[r["comm"]]),
            r["calls"],
            Size(r["sent"]),
            Size(r["received"]),
            Time(r["ns"]),
        )
        for r in found.records()
    ]
    head = ("operation", "communicator", "calls", "bytes sent", "bytes received", "time s")
    return _section("collectives", "Collective operations", table("collective", head, rows))


def _files(numbers: ReportNumbers) -> str:
    io = numbers.io
    if not io.rows:
        return ""
    found = reduce_io(io, "file")
    names = [*numbers.trace.files["name"].tolist(), "(no file)"]
    rows = [
        (str(names[r["file"]]), r["opens"], r["reads"], r["writes"], Size(r["bytes_read"]), Size(r["bytes_written"]),
         Time(r["read_ns"]), Time(r["write_ns"]))
        for r in found.records() if r["opens"] or r["reads"] or r["writes"]
    ]  # fmt: skip
    rows.sort(key=lambda row: -(row[6] + row[7]))
    head = ("file", "opens", "reads", "writes", "bytes read", "bytes written", "reading s", "writing s")
    return _section("files", "Files", table("file", head, rows[:_MOST_FILES], len(rows)))


def _matrix(numbers: ReportNumbers) -> str:
    """The largest pairs as rows, for readers who cannot use the chart."""
    matrix = numbers.charts["matrix"]
    if not matrix:
        return ""
    rows = ((one, other, count, Size(size)) for one, other, count, size in matrix["largest"])
    return table("pairs", ("from", "to", "messages", "bytes"), rows, matrix["pairs"])


def _heap(numbers: ReportNumbers) -> str:
    heap = numbers.charts["heap"]
    if not heap:
        return ""
    rows = ((name, Size(peak), blocks if blocks >= 0 else "", Size(last)) for name, peak, blocks, last in heap["peaks"])
    return table("peaks", ("process", "largest bytes", "most blocks", "bytes at the end"), rows)


def _counters(numbers: ReportNumbers) -> str:
    made = counters(numbers.trace, numbers.counters)
    rows = [tuple("" if row[column.key] is None else row[column.key] for column in made.columns) for row in made.rows]
    return table("counter", [column.head for column in made.columns], rows) if rows else ""


def _markers(numbers: ReportNumbers) -> str:
    found = numbers.trace.markers()
    if not found.rows:
        return ""
    shown = found.take(slice(_MOST_FILES)).records()
    rows = ((Time(r["time"]), r["category"], r["severity"], r["text"]) for r in shown)
    return _section("markers", "Markers", table("marker", ("time s", "category", "severity", "text"), rows, found.rows))


def _section(name: str, title: str, body: str) -> str:
    return f"<section id=s-{name}><h2>{title}</h2>{body}</section>"
