# SPDX-License-Identifier: BSD-3-Clause
"""The server of vtrace view: serves a site to this machine only.

The server listens on the loopback interface and answers only under a path with a secret token. It stops after a time
without requests. The header Content-Security-Policy keeps a page from sending requests to other servers.
"""

from __future__ import annotations

import os
import secrets
import select
import shutil
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlsplit

from vtrace.errors import VtraceError
from vtrace.text import html_text
from vtrace.timeline.answers import BadRequest, Content, Outdated

_PATIENCE, _PATIENCE_OF_PAGE = 10, 120
"""Seconds until the server closes a silent connection: before its first request with the token, and after it."""
_MOST_UNKNOWN = 32
"""The most connections without a valid request; a further one closes the oldest."""
_HOSTS = {"127.0.0.1", "localhost"}
_TYPES = {
    ".css": "text/css", ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".json": "application/json",
    ".png": "image/png", ".wasm": "application/wasm", ".woff2": "font/woff2",
}  # fmt: skip


class PageSite(Protocol):
    """The pages of a server."""

    policy: str
    """The value of Content-Security-Policy."""

    def answer(self, path: str, query: dict[str, str], wanted: Callable[[], bool]) -> Content | Path | None:
        """The answer for a path below the token; None: there is none. wanted: returns False if the page has given up
        waiting. Raises BadRequest and VtraceError."""


class Server(ThreadingHTTPServer):
    """Serves a site. port: 0 for any free port. Raises VtraceError if the port is taken."""

    daemon_threads = True
    request_queue_size = 128  # a connection that does not fit into the queue waits a second for its next try

    def __init__(self, site: PageSite, port: int = 0) -> None:
        self.site = site
        self.redirect: Path | None = None
        self.token = secrets.token_urlsafe(16)
        self.last_request = time.monotonic()
        self._lock = threading.Lock()
        self._unknown: dict[object, None] = {}
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError as error:
            raise VtraceError(f"cannot listen on port {port}: {error.strerror}", "choose another --port") from error

    def server_bind(self) -> None:
        """Does not look up a name for the address, as HTTPServer does: a slow name server would delay the page."""
        TCPServer.server_bind(self)

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

    def process_request(self, request: Any, client_address: Any) -> None:
        """Starts to answer a connection. Closes the oldest one of too many that have not shown the token: programs of
        other users could otherwise use up the descriptors of this process."""
        with self._lock:
            self._unknown[request] = None
            oldest: Any = next(iter(self._unknown)) if len(self._unknown) > _MOST_UNKNOWN else None
            self._unknown.pop(oldest, None)
        if oldest:
            with suppress(OSError):
                oldest.shutdown(socket.SHUT_RDWR)
        super().process_request(request, client_address)

    def trust(self, request: Any) -> None:
        """Remembers that a connection has shown the token."""
        with self._lock:
            self._unknown.pop(request, None)

    def shutdown_request(self, request: Any) -> None:
        self.trust(request)  # it ends
        super().shutdown_request(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """Prints nothing: a browser may close a connection in the middle of a response."""


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    timeout = _PATIENCE
    server_version, sys_version = "vtrace", ""
    disable_nagle_algorithm = True
    wbufsize = -1  # one packet for the head and a short body

    def do_GET(self) -> None:
        self.answer(body=True)

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def answer(self, body: bool) -> None:
        path = self.requested_path()
        if path is None:
            self.send(403, "text/plain", b"", body)
            return
        self.server.last_request = time.monotonic()
        self.server.trust(self.connection)
        self.connection.settimeout(_PATIENCE_OF_PAGE)
        if path == "" and self.server.redirect:
            self.server.redirect.unlink(missing_ok=True)
        if path == "alive":
            self.send(200, "text/plain", b"", body)
            return
        code, found = self.ask(path)
        if isinstance(found, Path):
            self.send_path(found, body)
        elif found is None:
            self.send(404, "text/plain", b"", body)
        else:
            self.send(code, _TYPES.get(found.suffix, "application/octet-stream"), found.data, body)

    def ask(self, path: str) -> tuple[int, Content | Path | None]:
        query = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        try:
            return 200, self.server.site.answer(path, query, self.is_wanted)
        except BadRequest as error:
            return 400, Content(".txt", str(error).encode())
        except Outdated as error:
            return 409, Content(".txt", str(error).encode())
        except VtraceError as error:  # the archive is gone or damaged: the page shows the line
            return 500, Content(".txt", str(error).encode(errors="replace"))

    def is_wanted(self) -> bool:
        """False if the browser has closed the connection."""
        try:
            readable = select.select([self.connection], [], [], 0)[0]
            return not readable or bool(self.connection.recv(1, socket.MSG_PEEK))
        except (OSError, ValueError):
            return False

    def requested_path(self) -> str | None:
        """The path after the token; None for a wrong token or another host's name (DNS rebinding)."""
        host = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
        token, slash, path = urlsplit(self.path).path.removeprefix("/").partition("/")
        known = secrets.compare_digest(token.encode(), self.server.token.encode())
        return path if known and slash and host in _HOSTS else None

    def head(self, code: int, kind: str, size: int) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(size))
        for name, value in (
            ("Content-Security-Policy", self.server.site.policy), ("Cache-Control", "no-store"),
            ("Referrer-Policy", "no-referrer"), ("X-Content-Type-Options", "nosniff"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
        ):  # fmt: skip
            self.send_header(name, value)
        self.end_headers()

    def send(self, code: int, kind: str, data: bytes, body: bool) -> None:
        try:
            self.head(code, kind, len(data))
            if body:
                self.wfile.write(data)
            self.wfile.flush()
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    def send_path(self, path: Path, body: bool) -> None:
        try:
            with path.open("rb") as file:
                self.head(200, _TYPES.get(path.suffix, "application/octet-stream"), path.stat().st_size)
                if body:
                    shutil.copyfileobj(file, self.wfile, 1 << 20)
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing."""
