# SPDX-License-Identifier: BSD-3-Clause
"""Exports: events as CSV or Parquet, the timeline for chrome://tracing. perfetto.py has the timeline for Perfetto."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace import __version__
from vtrace.analysis.ledger import UNKNOWN
from vtrace.analysis.question import Part, Question
from vtrace.analysis.questions.details import number
from vtrace.analysis.questions.events import NO_VALUE, REFERENCES, EventColumns
from vtrace.analysis.questions.metrics import _DOUBLE, _INT64, MetricMembers
from vtrace.analysis.questions.timeline_data import Shown, label, process_names
from vtrace.analysis.replay import Replay
from vtrace.analysis.selection import Selection
from vtrace.analysis.shared_scan import ask
from vtrace.analysis.table import Array, Table, texts
from vtrace.errors import VtraceError
from vtrace.export.wait_arguments import WAIT_COLUMNS, WaitColumns, arguments_of
from vtrace.io.archive.batches import Batch
from vtrace.io.archive.reader_abi import event_kinds
from vtrace.io.common.outfile import complete
from vtrace.text import json_text, plain

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

Columns = dict[str, Array]
"""The values of some events, by the names of columns."""
_AT_ONCE = 50_000


class _KindsSeenPart(Part):
    def __init__(self) -> None:
        self.counts = np.zeros(256, np.int64)

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        self.counts += np.bincount(batch.kind, minlength=256)


class _KindsSeen(Question[_KindsSeenPart, list[str]]):
    """Answers with the kinds of events in the selection."""

    kinds = frozenset(event_kinds())

    def part(self, trace: Source, location: int) -> _KindsSeenPart:
        return _KindsSeenPart()

    def answer(self) -> list[str]:
        counts = sum((part.counts for part in self.parts.values()), np.zeros(256))
        return [name for name in event_kinds() if counts[number(name)]]


class _WritePart(Part):
    def __init__(self, question: _Write, location: int) -> None:
        self.question, self.location = question, location

    def batch(self, batch: Batch, replay: Replay | None) -> None:
        columns = self.question.room(len(batch))
        columns.add(self.location, batch.time, batch.kind, batch.ref, batch.details, batch.numbers_of_calls())


class _Write(Question[_WritePart, int]):
    """Writes the events, with names instead of rows, in parts of about _AT_ONCE events or a batch, if larger: a part
    costs time, and space in a Parquet file, and many locations have few events."""

    kinds = frozenset(event_kinds())

    def __init__(
        self, trace: Source, more: Mapping[str, bool], write: Callable[[Columns], None], show: Callable[[str], str],
        *, waits: Table | None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.trace, self.more, self.write, self.count = trace, more, write, 0
        self._columns = EventColumns(trace, _AT_ONCE)
        self._kinds, self._processes = texts(list(event_kinds())), self._shown([*process_names(trace), ""], show)
        self._threads = self._shown(trace.locations["name"].tolist(), show)
        self._metrics = self._shown([*trace.metric_members["name"].tolist(), None], show)
        tables = trace.definitions.tables
        self._names = {
            name: self._shown([*tables[REFERENCES[name]]["name"].tolist(), None], show)
            for name, is_text in more.items()
            if is_text
        }
        self._members = MetricMembers(trace)
        self._waits = None if waits is None else WaitColumns(waits, self._processes)

    def part(self, trace: Source, location: int) -> _WritePart:
        return _WritePart(self, location)

    def room(self, events: int) -> EventColumns:
        """Columns with room for this number of events. May write the events of earlier batches."""
        if self._columns.at + events > self._columns.rows:
            self._flush()
            self._columns = EventColumns(self.trace, max(events, _AT_ONCE))
        return self._columns

    def _flush(self) -> None:
        at = self._columns.at
        if at:
            self.write(self.named({name: column[:at] for name, column in self._columns.found.items()}))
        self.count += at

    def answer(self) -> int:
        """Writes the last events. Returns the number of all events written."""
        self._flush()
        self._columns = EventColumns(self.trace, 0)
        return self.count

    def named(self, found: dict[str, Array]) -> Columns:
        trace, rows = self.trace, len(found["time"])
        columns: Columns = {
            "time": found["time"], "process": self._processes[trace.places.process[found["location"]]],
            "thread": self._threads[found["location"]], "event": self._kinds[found["kind"]],
        }  # fmt: skip
        for name, is_text in self.more.items():
            columns[name] = column = np.full(rows, None, object)
            given = found.get("@calls" if name == "calls" else name)
            if given is not None:
                known = np.flatnonzero(given != NO_VALUE)
                values = given[known]
                column[known] = self._names[name][values] if is_text else values
        if "member" in found and "value" in found:
            self.metrics(found, columns)
        if self._waits:
            leaves = np.flatnonzero(found["kind"] == number("Leave"))
            self._waits.fill(columns, leaves, *(found[name][leaves] for name in ("location", "time", "region")))
        return columns

    @staticmethod
    def _shown(names: Sequence[str | None], show: Callable[[str], str]) -> Array:
        return texts([name if name is None else show(name) for name in names])

    def metrics(self, found: dict[str, Array], columns: Columns) -> None:
        """Fills value and metric of Metric events: values are stored as bits, and become integers, or numbers of double
        precision; class and member identify the metric."""
        rows = np.flatnonzero(found["kind"] == number("Metric"))
        kinds, bits = found["type"][rows], found["value"][rows]
        signed, real = kinds == _INT64, kinds == _DOUBLE
        for mine, kind in ((signed, np.int64), (real, np.float64), (~(signed | real), np.uint64)):
            columns["value"][rows[mine]] = bits.view(kind)[mine]
        metric = self._members.of_class(found["metric"][rows], found["member"][rows])
        columns["metric"][rows] = self._metrics[metric]


def events(
    trace: Source, window: Selection, begin: Callable[[dict[str, type]], Callable[[Columns], None]],
    show: Callable[[str], str] = str, *, waits: Table | None = None,
) -> int:  # fmt: skip
    """Writes all events of a selection, location by location. Returns their number.

    begin: gets the columns with their types, returns the function that writes some events. show: turns each name into
    the text to write. waits: of calls of MPI, see wait_arguments; their columns are written, too.

    Columns: time (ns since the trace's start), process, thread, event (OTF2's name of the kind), and every value that
    any of the events has, None for events without this value. calls: of a Leave, the number of calls that it ends
    (polls in a row that found nothing); None: one.
    """
    seen = _KindsSeen()
    ask(trace, [seen], window)
    more: dict[str, bool] = {}
    names = seen.answer()
    for name in names:
        _, what, words = event_kinds()[name]
        more |= dict.fromkeys(filter(None, (what, *words)), False)
    if trace.calls_attribute is not None:
        more["calls"] = False
    for name in more:
        table = trace.definitions.tables.get(REFERENCES.get(name, ""))
        more[name] = table is not None and "name" in table
    types = {"time": int, "process": str, "thread": str, "event": str}
    types |= {name: str if is_text or name == "metric" else int for name, is_text in more.items()}
    if "Metric" in names:
        types["value"] = float
    if waits is not None:
        types |= WAIT_COLUMNS
    writer = _Write(trace, more, write=begin(types), show=show, waits=waits)
    ask(trace, [writer], window, jobs=1)
    return writer.answer()


def write_csv(trace: Source, window: Selection, path: Path, waits: Table | None = None) -> int:
    """Writes comma-separated values below a line with the names of columns; control characters are escaped. Returns the
    number of events. waits: see events()."""
    with complete(path) as file:
        writer = csv.writer(file)

        def begin(types: dict[str, type]) -> Callable[[Columns], None]:
            writer.writerow(types)
            return lambda columns: writer.writerows(zip(*(columns[name].tolist() for name in types), strict=True))

        return events(trace, window, begin=begin, show=plain, waits=waits)


def parquet() -> Any:
    """The module pyarrow with pyarrow.parquet. Raises VtraceError if it is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise VtraceError(
            "Parquet needs pyarrow, which is not installed", "pip install 'vtrace-otf2[parquet]'"
        ) from error
    return pyarrow


def write_parquet(trace: Source, window: Selection, path: Path, waits: Table | None = None) -> int:
    """Writes a Parquet file; texts are dictionary-encoded. Returns the number of events. waits: see events(). Raises
    VtraceError without pyarrow."""
    pa = parquet()
    kinds = {int: pa.int64(), float: pa.float64(), str: pa.dictionary(pa.int32(), pa.string())}
    writers: list[Any] = []
    with complete(path, "wb") as file:

        def begin(types: dict[str, type]) -> Callable[[Columns], None]:
            about = {"vtrace.caveats": json_text(window.caveats(trace))}
            schema = pa.schema([(name, kinds[kind]) for name, kind in types.items()], metadata=about)
            writers.append(pa.parquet.ParquetWriter(file, schema))

            def write(columns: Columns) -> None:
                arrays = []
                for name, kind in types.items():
                    values = columns[name].tolist()
                    if kind is str:
                        arrays.append(pa.array(values, pa.string()).dictionary_encode())
                        continue
                    if kind is float:  # pyarrow refuses integers that have no equal
                        values = [value if value is None else float(value) for value in values]
                    arrays.append(pa.array(values, kinds[kind]))
                writers[0].write_table(pa.Table.from_arrays(arrays, schema=schema))

            return write

        count = events(trace, window, begin, waits=waits)
        writers[0].close()
        return count


def write_chrome(shown: Shown, path: Path) -> None:
    """Writes trace events in JSON, for chrome://tracing, speedscope and others; times in us."""
    trace, calls = shown.trace, shown.calls
    process, names = trace.places.process, process_names(trace)
    regions, classes = trace.regions, trace.regions.classes
    with complete(path) as file:
        other = json_text({"creator": f"vtrace {__version__}", "caveats": shown.window.caveats(trace)})
        file.write(f'{{"displayTimeUnit":"ns","otherData":{other},"traceEvents":[')
        for place, row in enumerate(shown.window.rows(trace)):
            pid = int(process[row])
            for kind, name in (("process_name", names[pid]), ("thread_name", str(trace.locations["name"][row]))):
                about = {"ph": "M", "name": kind, "pid": pid, "tid": row, "args": {"name": name}}
                file.write(("," if place or kind == "thread_name" else "") + json_text(about))
        waits = {} if shown.waits is None else arguments_of(calls, shown.waits, names)
        heads = [
            f',{{"ph":"X","name":{json_text(label(str(name)))},"cat":{json_text(classes[kind])},'
            for name, kind in zip(regions["name"], regions["class"], strict=True)
        ]
        for first in range(0, len(calls), _AT_ONCE):
            part = slice(first, first + _AT_ONCE)
            more = [f',"args":{json_text(waits[call])}' if call in waits else "" for call in range(len(calls))[part]]
            columns = (
                calls.region[part],
                process[calls.track[part]],
                calls.track[part],
                calls.begin[part],
                calls.end[part],
            )
            file.writelines(
                f'{heads[region]}"pid":{pid},"tid":{tid},"ts":{begin / 1e3:.3f},"dur":{(end - begin) / 1e3:.3f}{tail}}}'
                for region, pid, tid, begin, end, tail in zip(*(c.tolist() for c in columns), more, strict=True)
            )
        for place, m in enumerate(shown.messages.records()):
            for kind, end, time in (("s", m["sender"], m["send"]), ("f", m["receiver"], m["receive"])):
                arrow = {"ph": kind, "bp": "e", "name": "message", "cat": "MPI", "id": place, "ts": time / 1000}
                file.write("," + json_text(arrow | {"pid": int(process[end]), "tid": end}))
        for place, gap in enumerate(shown.missing.records()):
            about = {
                "cat": "not recorded", "name": f"not recorded: {gap['reason']}", "id": f"gap {place}",
                "pid": int(process[gap["location"]]), "tid": gap["location"],
            }  # fmt: skip
            said = {"class": gap["class"], "events": None if gap["count"] == UNKNOWN else gap["count"]}
            file.write("," + json_text({"ph": "b", "ts": gap["begin"] / 1000, **about, "args": said}))
            file.write("," + json_text({"ph": "e", "ts": gap["end"] / 1000, **about}))
        file.write("]}")
