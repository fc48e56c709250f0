# SPDX-License-Identifier: BSD-3-Clause
"""The page of vtrace view as one HTML file, which needs no server and no network: the modules of the page as data:
URLs of an import map, the style, and the data of the traces (saved_data.py), compressed and in base64.

page/net/saved.js answers the page's requests from these data.
"""

from __future__ import annotations

import json
import posixpath
import re
from base64 import b64encode
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from vtrace import __version__
from vtrace.timeline.saved_data import Parts, Search, save_trace

if TYPE_CHECKING:
    from vtrace.timeline.saved_data import Ask
    from vtrace.timeline.viewer_site import ShownTrace


LARGEST = 5_000_000
"""Bytes of the file."""
_HEAD_ROOM = 20_000
"""Bytes for the places of parts."""

_IMPORT = re.compile(r"(\bfrom |\bimport )'(\.{1,2}/[^']+)'")
_POLICY = "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data: blob:"
"""The browser itself then refuses each request to the network."""
_NAME = "vtrace/"
"""Begins the names of modules in the import map: in data: URLs, relative names have no meaning."""


def page_of(
    page: Path, traces: Sequence[tuple[ShownTrace, dict[str, Any]]], ask: Ask, window: tuple[int, int] | None, *,
    turns: AbstractContextManager[Any], state: str, shifts: Sequence[int], advance: Callable[[int], None],
) -> bytes:  # fmt: skip
    """The file, with as many data as fit into LARGEST bytes.

    page: the folder of the page; traces: with their descriptions for a page with a server; ask: answers requests;
    window: what the file shows, by default what the page shows first; turns: of those who read all events; state: the
    address's fragment; shifts: how much later the page shows each trace, ns, if there is a window; advance: see
    save_trace.
    Raises FormatError."""
    empty = len(html_of(page, {}, b""))
    words = dict(parse_qsl(state.removeprefix("#")))
    search = Search(words.get("find", ""), exact=int(words.get("exact") == "1"))
    room = (LARGEST - empty) * 3 // 4 - _HEAD_ROOM
    metas, parts, data, at = [], dict[str, tuple[int, int]](), [], 0
    for number, (shown, described) in enumerate(traces):
        part = window or (described["from"], described["to"])
        by = shifts[number] if window and number < len(shifts) else 0
        begin = min(max(0, part[0] - by), described["duration"] - 1)
        part = begin, max(begin + 1, min(part[1] - by, described["duration"]))
        left = (room - at) // (len(traces) - number) - len(json.dumps(described))
        meta, found = save_trace(
            shown, ask, number, part, described=described, room=left, turns=turns, search=search, advance=advance
        )
        metas.append(meta)
        parts |= {name: (at + begin, size) for name, (begin, size) in found.places.items()}
        data += found.data
        at += found.size
    if len(traces) > 1:
        both = dict[str, Any]()
        for n, meta in enumerate(metas):
            both |= {f"from{n}": meta["saved"]["from"], f"to{n}": meta["saved"]["to"], f"rows{n}": ""}
        compared = Parts(room - at)
        compared.add("compare", ask("compare", both))
        parts |= {name: (at + begin, size) for name, (begin, size) in compared.places.items()}
        data += compared.data
    return html_of(page, {"state": state, "traces": metas, "parts": parts}, b"".join(data))


def html_of(page: Path, about: dict[str, Any], data: bytes) -> bytes:
    """The file. page: the folder with index.html, style.css and modules; about: what the page reads before the data
    (JSON); data: compressed parts, whose places are in about."""
    modules = {path.relative_to(page).as_posix(): path for path in sorted(page.rglob("*.js"))}
    imports = {_NAME + name: _module(name, path) for name, path in modules.items()}
    head = (
        f'<meta name="generator" content="vtrace {__version__}">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    )
    scripts = (
        f'<script type="importmap">{_json({"imports": imports})}</script>\n'
        f'<script type="application/json" id="saved">{_json(about)}</script>\n'
        f'<script type="text/plain" id="saved-data">{b64encode(data).decode()}</script>\n'
        f"<script type=\"module\">import '{_NAME}main.js';</script>"
    )
    text = (page / "index.html").read_text(encoding="utf-8")
    style = (page / "style.css").read_text(encoding="utf-8")
    for hole, filled in (
        ('<meta charset="utf-8">', f'<meta charset="utf-8">\n{head}'),
        ('<link rel="stylesheet" href="style.css">', f"<style>{style}</style>"),
        ('<script type="module" src="main.js"></script>', scripts),
    ):
        before, found, after = text.partition(hole)
        assert found, hole
        text = before + filled + after
    return text.encode()


def _module(name: str, path: Path) -> str:
    """A module as a data: URL, with the names of the import map in its imports."""

    def absolute(found: re.Match[str]) -> str:
        return f"{found[1]}'{_NAME}{posixpath.normpath(posixpath.join(posixpath.dirname(name), found[2]))}'"

    text = _IMPORT.sub(absolute, path.read_text(encoding="utf-8"))
    return f"data:text/javascript;base64,{b64encode(text.encode()).decode()}"


def _json(value: Any) -> str:
    """JSON inside a script element: no name can end the element or begin a comment."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True).replace("<", "\\u003c")
