# SPDX-License-Identifier: BSD-3-Clause
"""The site of vtrace view: the page's files, and the data of one or two traces.

Data is below data/1/ (the version of the protocol): answers of one address never change, so a page may keep them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from vtrace.analysis.activity import TREE, waits
from vtrace.analysis.annotations import NO_COLOUR, colours
from vtrace.analysis.findings.finding import stored_findings
from vtrace.analysis.selection import EVERYTHING, Selection
from vtrace.analysis.table import Array
from vtrace.console import QUIET, Console
from vtrace.errors import TileDamageError
from vtrace.text import plain
from vtrace.timeline import saved_page
from vtrace.timeline.answers import BadRequest, Content, Outdated, pack, plain_json
from vtrace.timeline.body import body
from vtrace.timeline.call_data import CallData
from vtrace.timeline.call_store import CallStore
from vtrace.timeline.curves import Curves
from vtrace.timeline.large_data import LargeData
from vtrace.timeline.off_core import OffCore
from vtrace.timeline.panel_data import PanelData, compared
from vtrace.timeline.prepared import Prepared
from vtrace.timeline.rare_calls import RareCalls
from vtrace.timeline.reading import Reading
from vtrace.timeline.row_tiles import RowTiles
from vtrace.timeline.rows import PageRows
from vtrace.timeline.sample_data import SampleData
from vtrace.timeline.saved_data import STEPS
from vtrace.timeline.tile_cache import rebuilt
from vtrace.timeline.tile_pass import is_large
from vtrace.timeline.window_data import WindowData
from vtrace.timeline.window_sums import WindowSums

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace
    from vtrace.io.sidecar.tile_file import TileFile

PAGE = Path(__file__).with_name("page")
VERSION = "data/1/"
_SLOW = {
    "messages", "collectives", "counters", "panel", "search", "nth", "far", "samples", "leaves", "sample", "rare",
    "curves", "sums", "ticks",
}  # fmt: skip
"""Requests that may read the whole trace. Only two of them run at the same time, so other requests need not wait."""
_CALLS = 20_000
"""With more calls of a row in a window than this, short calls are joined."""
_FAR = 2**62
_QUICK = 10_000_000
"""The most events in which the page looks for findings and iterations before a user asks for them."""
_COMMS = 2000
"""The most communicators whose names the page gets."""


@dataclass(kw_only=True)
class ShownTrace:
    """A trace of the page. command: vtrace view with the trace, for the window; caveats: lines about losses; options:
    words of the command that choose locations, the same for all traces."""

    trace: Trace
    part: Selection
    tiles: TileFile
    title: str
    command: str
    caveats: list[str] = field(default_factory=list)
    options: str = ""

    def __post_init__(self) -> None:
        self.reading = Reading()
        self.trace.progress = self.reading.begin
        self.rows = PageRows(self.trace, self.part)
        self.row_tiles = RowTiles(self.trace, self.tiles)
        large = is_large(self.trace)
        self.prepared = Prepared(self.trace, WindowSums(self.trace, self.tiles) if large else None)
        self.store = CallStore(self.prepared, self.tiles)
        self.data = LargeData(self.prepared, self.part, self.tiles) if large else WindowData(self.prepared, self.part)
        self.rare = RareCalls(self.trace, self.prepared, self.part, large)
        self.curves = Curves(self.trace, self.tiles, large)
        self.off_core = OffCore(self.trace)
        self.calls = CallData(self.trace, self.store, self.data, self.rare)
        self.samples = SampleData(self.trace, self.tiles)
        self.panels = PanelData(
            self.prepared, self.trace.findings, self.trace.diagnosis, sampled=self.samples.known,
            messages=None if large else self.data.messages,
        )  # fmt: skip

    @contextmanager
    def together(
        self, window: tuple[int, int], turns: AbstractContextManager[Any], calls: bool = False
    ) -> Iterator[None]:
        """Inside, the panels of a window, the findings of the run, collective operations and rare calls are answered
        from one pass over the events, if the window is the whole run. turns: is entered for the pass and the diagnosis
        only, since requests take turns themselves. calls: also reads all calls of the page's locations."""
        from vtrace.analysis.findings.diagnosis_pass import DiagnosisPass  # the server begins without

        locations = self.rows.of("")
        of_window = Selection.of(*window, locations)
        asked = DiagnosisPass(self.trace, EVERYTHING, with_mpi=not self.trace.knows("critical_path"))
        questions = [] if self.panels.is_diagnosed else asked.questions
        wanted = [(question, EVERYTHING) for question in questions]
        wanted += [(question, of_window) for question in self.panels.questions()]
        wanted += [(question, EVERYTHING) for question in self.data.questions()]
        wanted += [(self.store.question(), Selection.of(locations=locations))] * calls
        with self.prepared.together(wanted, turns):
            if questions:
                with turns:
                    self.trace.diagnosis(EVERYTHING, known=asked)
                    self.panels.keep_iterations()
            yield


class ViewerSite:
    """Answers the page's requests. console: gets a line when tiles are rebuilt."""

    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )

    def __init__(self, opens: Sequence[Callable[[], ShownTrace]], console: Console | None = None) -> None:
        """opens: functions that open the traces, called again if an archive was replaced before a page is loaded.
        Raises VtraceError."""
        self._opens, self._turns, self._console = opens, BoundedSemaphore(2), console or Console("vtrace", QUIET)
        self.shown, self._loads = [each() for each in opens], 0
        self._remaking = Lock()
        self._files = {p.relative_to(PAGE).as_posix(): p for p in PAGE.rglob("*") if p.suffix in (".js", ".css")}
        self._front = _front([name for name in self._files if name.endswith(".js")])

    def answer(self, path: str, query: dict[str, str], wanted: Callable[[], bool]) -> Content | Path | None:
        if not path.startswith(VERSION):
            return self._files.get(path) if path else self._front
        name, words = path.removeprefix(VERSION), _Query(query, wanted)
        if name == "traces":
            return self._described()
        self._check(words)
        try:
            return self._found(name, words)
        except (ArithmeticError, LookupError, MemoryError, ValueError) as error:
            raise BadRequest(f"these words have no meaning together ({type(error).__name__})") from error
        finally:
            self._check(words)

    def _described(self) -> Content:
        """The descriptions of the traces, for a page that is loaded."""
        with self._remaking:
            for number, shown in enumerate(self.shown):
                if shown.trace.is_replaced:
                    self.shown[number] = self._opens[number]()
                    self._loads += 1
            return plain_json([_described(each) | {"loads": self._loads} for each in self.shown])

    def _check(self, words: _Query) -> None:
        """Raises Outdated if an archive was replaced since the page was loaded, so that the page never mixes data of
        two archives."""
        loads = words.number("loads", default=self._loads)
        if loads != self._loads or any(shown.trace.is_replaced for shown in self.shown):
            raise Outdated("the archive has changed: reload the page")

    def _found(self, name: str, words: _Query) -> Content | None:
        if name == "compare":
            with self._turns:
                return _compare(self.shown, words)
        if name == "reading":
            return plain_json(
                {"share": next((one for each in self.shown if (one := each.reading.share) is not None), None)}
            )
        if name == "save":
            return Content(".html", self._saved_by(words))
        if name not in _ANSWERS:
            return None
        number, wanted = words.number("trace", 0, len(self.shown) - 1), words.wanted
        shown = self.shown[number]
        with self._turns if name in _SLOW else nullcontext():
            if not wanted():
                return Content(".bin", b"")
            try:
                return _ANSWERS[name](shown, words)
            except TileDamageError as error:
                return _ANSWERS[name](self._with_new_tiles(number, shown, error), words)

    def _saved_by(self, words: _Query) -> bytes:
        shifts = [int(each) for each in words.text("shift", "").split(",") if each]
        return self.saved(words.window(), words.text("state", ""), shifts)

    def saved(self, window: tuple[int, int] | None = None, state: str = "", shifts: Sequence[int] = ()) -> bytes:
        """The page as one file (saved_page.py). window: what the file shows, by default what the page shows first;
        state: the fragment of the address at which the page begins; shifts: how much later each trace is shown, ns.
        Raises VtraceError."""
        try:
            return self._saved(window, state, shifts)
        except TileDamageError as error:
            for number, shown in enumerate([*self.shown]):
                self._with_new_tiles(number, shown, error)
            return self._saved(window, state, shifts)

    def _saved(self, window: tuple[int, int] | None, state: str, shifts: Sequence[int]) -> bytes:

        def ask(name: str, words: Mapping[str, Any]) -> Content | None:
            return self._found(name, _Query({word: str(value) for word, value in words.items()}, lambda: True))

        traces = [(each, _described(each)) for each in self.shown]
        with self._console.steps("saving the page", STEPS * len(traces)) as advance:
            return saved_page.page_of(
                PAGE, traces, ask, window, turns=self._turns, state=state, shifts=shifts, advance=advance
            )

    def _with_new_tiles(self, number: int, shown: ShownTrace, error: TileDamageError) -> ShownTrace:
        """The trace with rebuilt tiles; another thread may have rebuilt the tiles already."""
        with self._remaking:
            if self.shown[number] is shown:
                self.shown[number] = replace(shown, tiles=rebuilt(shown.trace, self._console, error))
            return self.shown[number]


def _front(modules: Sequence[str]) -> Content:
    """index.html, with a request for each module: a browser otherwise asks for a module after it has read the one that
    imports it."""
    hole = '<script type="module" src="main.js"></script>'
    before, found, after = (PAGE / "index.html").read_text(encoding="utf-8").partition(hole)
    links = "".join(f'<link rel="modulepreload" href="{name}">\n' for name in sorted(modules))
    return Content(".html", (before + links + found + after).encode())


class _Query:
    """The words of a request. wanted: returns False if the client no longer waits for the answer."""

    def __init__(self, query: Mapping[str, str], wanted: Callable[[], bool]) -> None:
        self._query, self.wanted = query, wanted

    def text(self, name: str, default: str | None = None) -> str:
        """The value of a word. Raises BadRequest if the word is missing or has no meaning; so do the methods below."""
        found = self._query.get(name, default)
        if found is None:
            raise BadRequest(f"no {name}")
        return found

    def number(self, name: str, least: int = -_FAR, most: int = _FAR, default: int | None = None) -> int:
        try:
            found = int(self.text(name, None if default is None else str(default)))
        except ValueError:
            raise BadRequest(f"{name} is not a number") from None
        if not least <= found <= most:
            raise BadRequest(f"{name} is not from {least} to {most}")
        return found

    def window(self, of: str = "") -> tuple[int, int]:
        """The window in the words from and to. of: the suffix of these words."""
        begin, end = self.number(f"from{of}"), self.number(f"to{of}")
        return begin, max(end, begin + 1)


def _described(shown: ShownTrace) -> dict[str, Any]:
    trace = shown.trace
    begin, end = shown.part.ends(trace)
    lines = [*shown.caveats, *trace.problems]
    return {
        "title": plain(shown.title), "command": plain(shown.command), "options": plain(shown.options),
        "duration": max(trace.duration, 1), "from": begin, "to": end,
        "body": _body(shown),
        "start": trace.start, "creator": plain(trace.creator), "machine": plain(trace.machine),
        "caveats": [plain(line) for line in lines], "classes": [each._asdict() for each in TREE],
        "regions": trace.regions.rows, "events": int(trace.locations["events"].sum()), "top": shown.row_tiles.top,
        "rows": shown.rows.described(), "finest": shown.row_tiles.finest[shown.rows.order].tolist(),
        "samples": shown.samples.known, "counters": shown.curves.described(),
        "offCore": shown.off_core.known, "memory": "memory" in shown.panels.names,
        "comms": [plain(str(name)) for name in trace.comms["name"][:_COMMS].tolist()], "findings": _known(trace),
        "quick": _is_quick(trace),
    }  # fmt: skip


def _body(shown: ShownTrace) -> tuple[int, int] | None:
    """body() of a trace without a chosen window; None also if the tiles are damaged, which a later request repairs."""
    if shown.part.start is not None or shown.part.stop is not None:
        return None
    with suppress(TileDamageError):
        return body(shown.trace, shown.tiles, shown.rows.order)
    return None


def _known(trace: Trace) -> int:
    """The number of findings of the run, -1 if unknown, -2 if unknown and only a long pass over the events tells."""
    stored = stored_findings(trace)
    if stored is not None:
        return len(stored)
    return -1 if _is_quick(trace) else -2


def _is_quick(trace: Trace) -> bool:
    """True if a diagnosis of the run takes so short that the page asks for it by itself."""
    return int(trace.locations["events"].sum()) <= _QUICK


def _regions(shown: ShownTrace, words: _Query) -> Content:
    """Texts of regions (rows=1,2,3), and of each region of the trace its class, 1 if it waits, and the colour of
    an annotation, where 0 is none, and black 1 (rows=classes)."""
    rows = words.text("rows")
    if rows == "classes":
        regions = shown.trace.regions
        waiting = waits(regions["name"].tolist(), regions["activity"])
        found = {"class": regions["class"].astype(np.uint8), "waits": waiting.astype(np.uint8)}
        own = colours(regions)
        return pack(found | {"colour": np.where(own == NO_COLOUR, 0, np.maximum(own, 1)).astype(np.int32)})
    try:
        wanted = [int(row) for row in rows.split(",")][:1000]
    except ValueError:
        raise BadRequest("rows are not numbers") from None
    return plain_json([shown.calls.region(row) if 0 <= row < shown.trace.regions.rows else None for row in wanted])


def _tiles(shown: ShownTrace, words: _Query) -> Content:
    level, number = words.number("level", 0, shown.row_tiles.top), words.number("number", 0, 2**40)
    return shown.row_tiles.answer(_rows(shown, words), level, number, words.wanted)


def _calls(shown: ShownTrace, words: _Query) -> Content:
    """The calls of rows of one location in a window, row by row in the order of their starts, and their number in each
    row. If there are many, calls shorter than `shortest` are joined (LocationCalls.drawn). cut: see
    LocationCalls."""
    begin, end = words.window()
    shortest = words.number("shortest", 0)
    rows = [each[:1].tolist() for each in _rows(shown, words)]
    known = shown.store.window([row for each in rows for row in each], begin, end)
    drawn = [known[row].drawn(begin, end, _CALLS, shortest) for each in rows for row in each]
    names = ("begin", "end", "region", "depth", "exclusive", "calls")
    found = {name: np.concatenate([*(each[name] for each in drawn), np.empty(0, np.int32)]) for name in names}
    found |= {name: found[name].astype(np.int32) for name in ("region", "depth", "calls")}
    lengths = iter(len(each["begin"]) for each in drawn)
    count = np.array([next(lengths) if each else 0 for each in rows], np.int32)
    return pack(found | {"count": count}, cut=any(each.is_cut for each in known.values()))


def _messages(shown: ShownTrace, words: _Query) -> Content:
    tag, between = words.text("tag", ""), words.text("between", "")
    return shown.data.links(
        _rows(shown, words), words.window(), between=shown.rows.of(between) if between else None,
        lines=words.number("lines", 0, 10_000),
        smallest=words.number("smallest", 0), tag=words.number("tag") if tag else None, comm=words.number("comm", -1),
    )  # fmt: skip


def _sample(shown: ShownTrace, words: _Query) -> Content:
    time, slack, step = words.number("time"), words.number("slack", 0), words.number("step", -1, 1)
    return plain_json(shown.samples.sample(_location(shown, words), time, slack, step))


def _rows(shown: ShownTrace, words: _Query) -> list[Array]:
    """The locations of each row of a request."""
    return shown.rows.each(words.text("rows"))


def _locations(shown: ShownTrace, words: _Query) -> list[int]:
    return shown.rows.of(words.text("rows"))


def _location(shown: ShownTrace, words: _Query) -> int:
    return words.number("location", 0, shown.trace.locations.rows - 1)


def _bins(words: _Query) -> int:
    return words.number("bins", 1, 4096)


def _place(shown: ShownTrace, words: _Query) -> tuple[int, int, int]:
    return _location(shown, words), words.number("begin"), words.number("depth", 0)


def _go(shown: ShownTrace, words: _Query) -> Content:
    locations = _locations(shown, words)
    return plain_json(shown.calls.go(*_place(shown, words), words.text("way"), locations))


def _far(shown: ShownTrace, words: _Query) -> Content:
    """The other end of a message."""
    partner = words.number("partner", 0, shown.trace.locations.rows - 1)
    comm, tag = words.number("comm", -1), words.number("tag")
    sent = words.number("sent", 0, 1) == 1
    return plain_json(
        shown.data.other_end(_location(shown, words), partner, comm=comm, tag=tag, time=words.number("time"), sent=sent)
    )


def _search(shown: ShownTrace, words: _Query) -> Content:
    rows = _rows(shown, words)
    bins, exact = _bins(words), words.text("exact", "0") == "1"
    return shown.calls.search(words.text("text"), rows, window=words.window(), bins=bins, exact=exact)


def _compare(both: list[ShownTrace], words: _Query) -> Content:
    """The differences of two traces, each with a window (from0, to0, from1, to1) and rows (rows0, rows1)."""
    if len(both) != 2:
        raise BadRequest("there are no two traces")
    first, second = (
        shown.panels.regions(words.window(str(n)), shown.rows.of(words.text(f"rows{n}")))
        for n, shown in enumerate(both)
    )
    return compared((first, second))


_ANSWERS: dict[str, Callable[[ShownTrace, _Query], Content]] = {
    "regions": _regions, "tiles": _tiles, "calls": _calls, "messages": _messages, "go": _go, "far": _far,
    "search": _search, "sample": _sample,
    "collectives": lambda shown, words: shown.data.bands(_rows(shown, words), words.window()),
    "counters": lambda shown, words: shown.data.counters(_locations(shown, words), words.window()),
    "marks": lambda shown, words: shown.data.marks(),
    "call": lambda shown, words: plain_json(shown.calls.describe(*_place(shown, words))),
    "at": lambda shown, words: plain_json(shown.calls.at(_location(shown, words), words.number("time"))),
    "nth": lambda shown, words: plain_json(
        shown.calls.nth(words.text("region"), words.number("number", 1), shown.rows.of(""))
    ),
    "panel": lambda shown, words: shown.panels.answer(words.text("name"), words.window(), _locations(shown, words)),
    "sums": lambda shown, words: shown.panels.sums(
        words.window(), shown.rows.order, words.text("text"), exact=words.text("exact", "0") == "1"
    ),
    "ticks": lambda shown, words: shown.panels.ticks(words.number("most", 1, 4096)),
    "samples": lambda shown, words: shown.samples.stacks(
        _location(shown, words), words.window(), words.number("shortest", 0)
    ),
    "leaves": lambda shown, words: shown.samples.leaves(_rows(shown, words), words.window(), _bins(words)),
    "rare": lambda shown, words: shown.rare.answer(
        _rows(shown, words), words.window(), _bins(words), words.number("every", 0, 1) == 1
    ),
    "processor": lambda shown, words: shown.off_core.answer(_rows(shown, words), words.window(), _bins(words)),
    "curves": lambda shown, words: shown.curves.answer(
        words.number("counter", 0), _rows(shown, words), words.window(), _bins(words)
    ),
}  # fmt: skip
"""The answer of each request."""
