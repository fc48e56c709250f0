# SPDX-License-Identifier: BSD-3-Clause
"""The server of vtrace view: access rules, served files, and its end."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from vtrace.timeline import server as module
from vtrace.timeline.perfetto_site import _PATCHES, PerfettoSite, interface
from vtrace.timeline.server import Server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "a.pftrace").write_bytes(b"trace")
    (tmp_path / "other").write_text("secret")
    site = PerfettoSite(tmp_path / "a.pftrace", "<b>odd</b>", ["a <i>caveat</i>"], ["one <i>note</i>"])
    server = Server(site)
    worker = threading.Thread(target=server.serve_forever, args=(0.05,))
    worker.start()
    yield server
    server.shutdown()
    server.server_close()
    worker.join()


def ask(server: Server, path: str, host: str | None = None, method: str = "GET") -> tuple[int, bytes, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request(method, path, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    found = answer.status, answer.read(), dict(answer.getheaders())
    connection.close()
    return found


def test_only_with_the_token(server: Server) -> None:
    token = server.token
    assert len(token) >= 20
    for path in (
        "/",
        "/trace",
        f"/{token}",
        f"/{token[:-1]}/trace",
        f"/{token}x/trace",
        "//trace",
        f"/x/{token}/trace",
    ):
        assert ask(server, path)[:2] == (403, b""), path
    assert ask(server, f"/{token}/trace")[:2] == (200, b"trace")
    assert ask(server, f"/{token}/trace?name=a")[:2] == (200, b"trace")
    assert ask(server, f"/{token}/trace", method="HEAD")[:2] == (200, b"")
    assert ask(server, f"/{token}/trace", method="POST")[0] == 501


def test_only_under_names_of_this_machine(server: Server) -> None:
    """The server refuses foreign host names that resolve to this machine (DNS rebinding)."""
    path = f"/{server.token}/trace"
    for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example"):
        assert ask(server, path, host)[:2] == (403, b""), host
    for host in ("127.0.0.1", "localhost", "localhost:8888", "127.0.0.1:9"):
        assert ask(server, path, host)[0] == 200, host


def test_asks_no_name_server(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("socket.getfqdn", lambda name="": asked.append(name) or name)
    Server(SimpleNamespace()).server_close()
    assert not asked


def test_only_its_own_files(server: Server) -> None:
    base = f"/{server.token}"
    for path in (
        "/other",
        "/../other",
        "/ui/../../other",
        "/%2e%2e/other",
        "/ui/../serve.py",
        "/ui/nothing",
        "//etc/passwd",
    ):
        assert ask(server, base + path)[:2] == (404, b""), path
    for path in ("/ui/frontend_bundle.js", "/ui/trace_processor.wasm", "/ui/guard.js", "/view.js", "/view.css"):
        code, data, heads = ask(server, base + path)
        assert (code, len(data)) == (200, int(heads["Content-Length"])), path
        policy = heads["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "connect-src 'self' blob: data:;" in policy


def test_it_listens_to_this_machine_only(server: Server) -> None:
    assert server.server_address[0] == "127.0.0.1"


def test_names_are_text(server: Server) -> None:
    page = ask(server, f"/{server.token}/")[1].decode()
    assert "&lt;b&gt;odd&lt;/b&gt;" in page
    assert "one &lt;i&gt;note&lt;/i&gt;" in page
    assert "<b>odd" not in page


def test_it_ends_when_nobody_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=0, monotonic=lambda: clock.now, sleep=lambda _: time.sleep(0.01))
    monkeypatch.setattr(module, "time", clock)
    (tmp_path / "a.pftrace").write_bytes(b"trace")
    server = Server(PerfettoSite(tmp_path / "a.pftrace", "a", [], []))
    ended = threading.Event()

    def work() -> None:
        server.serve_while_used(10)
        ended.set()

    threading.Thread(target=work, daemon=True).start()
    for _ in range(5):  # the server goes on while requests arrive
        assert ask(server, f"/{server.token}/alive")[0] == 200
        clock.now += 9
        assert not ended.wait(0.05)
    clock.now += 1
    assert ended.wait(30)
    with pytest.raises(ConnectionRefusedError):
        ask(server, f"/{server.token}/alive")


def test_what_is_changed_in_the_interface_is_there(server: Server) -> None:
    """The server's replacements in the interface fit the installed version of the package."""
    original = (interface() / "frontend_bundle.js").read_bytes()
    bundle = ask(server, f"/{server.token}/ui/frontend_bundle.js")[1]
    for theirs, ours in _PATCHES:
        assert theirs in original
        assert theirs not in bundle
        assert ours in bundle
