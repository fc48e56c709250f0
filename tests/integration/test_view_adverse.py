# SPDX-License-Identifier: BSD-3-Clause
"""vtrace view with damaged or foreign tiles, without a place for them, with two pages; browsers that go away."""

from __future__ import annotations

import json
import random
import resource
import shutil
import socket
import subprocess
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from support.synthetic_runs import uneven, viewed
from support.synthetic_runs.viewed import served
from support.users.browser import Browser
from support.users.page_site import PageTable, decoded
from support.users.viewer import Viewer
from vtrace.io.sidecar import sidecar
from vtrace.io.sidecar.tile_file import DATA

HEAD = 40
"""Bytes at the start of tiles.data: its magic number, and the identity of the archive."""


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return viewed.write(tmp_path / "odd.trace").parent


def table(address: str, name: str, **words: object) -> PageTable:
    query = "&".join(f"{key}={value}" for key, value in ({"trace": 0} | words).items())
    with urlopen(f"{address}data/1/{name}?{query}", timeout=60) as answer:
        return decoded(answer.read())


def whole(address: str) -> PageTable:
    """The tiles of both rows at the level of the whole trace."""
    with urlopen(f"{address}data/1/traces", timeout=60) as answer:
        (about,) = json.loads(answer.read())
    return table(address, "tiles", rows="l0,l1", level=about["top"], number=0)


def said(process: subprocess.Popen[str]) -> list[str]:
    """The lines on standard error of a server, which ends."""
    process.terminate()
    return process.communicate(timeout=60)[1].splitlines()


def spoilt(folder: Path, how: str, other: Path) -> None:
    """Damages the files of tiles."""
    for path in [folder / DATA] if "data" in how else sorted(folder.glob("tiles*")):
        data = bytearray(path.read_bytes())
        if "cut" in how:
            del data[len(data) // 2 :]
        elif "random" in how:
            begin = HEAD if "behind" in how else 0
            data[begin:] = random.Random(1).randbytes(len(data) - begin)
        elif "empty" in how:
            data.clear()
        else:
            data = bytearray((other / sidecar.FOLDER / path.name).read_bytes())
        path.write_bytes(data)


@pytest.mark.parametrize(
    "how", ["cut", "random", "empty", "foreign", "cut data", "random data", "random data behind the head", "empty data"]
)
def test_damaged_tiles(archive: Path, tmp_path: Path, how: str) -> None:
    """The tiles are rebuilt, after one line, and the page gets the same numbers as before."""
    other = tmp_path / "other.trace"
    uneven.write(other, 2, 30)
    for each in (other, archive):
        with served(tmp_path, each) as (address, process):
            right = whole(address)
            said(process)
    spoilt(archive / sidecar.FOLDER, how, other)
    for times in (1, 0):
        with served(tmp_path, archive) as (address, process):
            for _ in range(2):
                assert whole(address) == right
            lines = said(process)
        assert sum("rebuilding the tiles" in line for line in lines) == times, lines
        assert not any("Traceback" in line for line in lines)


@pytest.mark.parametrize("cache_too", [False, True])
def test_no_place_for_tiles(archive: Path, tmp_path: Path, page: Browser, cache_too: bool) -> None:
    """The tiles go to the user's cache; without a place for them there is one line, and no page."""
    shutil.rmtree(archive / sidecar.FOLDER, ignore_errors=True)
    (archive / sidecar.FOLDER).write_text("a file where the folder would be")
    cache = tmp_path / "cache"
    if cache_too:
        cache.write_text("a file where the folder would be")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        with served(tmp_path, archive) as (address, process):
            if not cache_too:
                assert Viewer(page, address).window == (0, viewed.LENGTH)
                assert page.complaints() == []
            else:
                assert (address, process.wait(60)) == ("", 1)
            lines = said(process)
    assert sum("cannot be written" in line for line in lines) == 1, lines
    assert not any("Traceback" in line for line in lines)
    assert len([*tmp_path.glob(f"cache/vtrace/*/{sidecar.FOLDER}/{DATA}")]) == (0 if cache_too else 1)


def test_two_pages(archive: Path, tmp_path: Path, page: Browser) -> None:
    """Two pages of one server at once: each keeps its own view, and gets the same answers."""
    with served(tmp_path, archive) as (address, process):
        first = Viewer(page, address + "#w=100000-120000")
        line, one = first.pixels(60), page.driver.current_window_handle
        with page.tab() as other:
            second = Viewer(other, address + "#w=600000-700000&row=0:l1")
            second.click(second.x(650_000), 40)
            assert second.facts()["region"] == "MPI_Allreduce"
            two = page.driver.current_window_handle
            page.driver.switch_to.window(one)
            assert (first.window, first.pixels(60)) == ((100_000, 120_000), line)
            first.key("w")
            page.driver.switch_to.window(two)
            assert second.window == (600_000, 700_000)
        first.click(first.x(106_500), first.row(1))  # the other page has gone away; this one goes on
        assert first.facts()["region"] == "MPI_Recv"
        assert page.complaints() == []
        assert not any("Traceback" in line for line in said(process))


def test_an_archive_that_is_replaced(archive: Path, tmp_path: Path, page: Browser) -> None:
    """The page says so, and shows the new one when it is loaded again."""
    with served(tmp_path, archive) as (address, process):
        viewer = Viewer(page, address)
        archive.rename(tmp_path / "old.trace")
        uneven.write(archive, 3, 20)
        viewer.key("w")
        assert page.run("return document.getElementById('said').innerText") == (
            "the archive has changed: reload the page"
        )
        page.complaints()
        assert len(Viewer(page, address).run("return document.getElementById('said').innerText")) == 0
        assert page.complaints() == []
        assert not any("Traceback" in line for line in said(process))


def test_browsers_that_go_away(archive: Path, tmp_path: Path) -> None:
    """Connections that end in the middle of a request, before the answer, or that never ask: others get answers."""
    with served(tmp_path, archive) as (address, process):
        right, parts = whole(address), urlsplit(address)
        place = parts.hostname, parts.port
        words = {"rows": "l0,l1", "lines": 100, "smallest": 0, "comm": -1, "from": 0, "to": 10**6}
        query = "&".join(f"{key}={value}" for key, value in words.items())
        ask = f"GET {parts.path}data/1/messages?trace=0&{query} HTTP/1.1\r\n"
        silent = [socket.create_connection(place) for _ in range(20)]
        for size in (0, 5, len(ask)):
            for _ in range(10):
                with socket.create_connection(place) as gone:
                    gone.sendall(ask[:size].encode())
        for _ in range(10):
            gone = socket.create_connection(place)
            gone.sendall(f"{ask}Host: 127.0.0.1\r\n\r\n".encode())
            gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # close() resets the connection
            gone.close()
        assert whole(address) == right
        assert len(table(address, "messages", **words).columns["send"]) == 100
        for each in silent:
            each.close()
        lines = said(process)
        assert process.returncode == 0
    assert not any("Traceback" in line or "Exception" in line for line in lines)


@pytest.mark.parametrize("ask", ["", "GET / HTTP/1.1\r\n", "GET /wrong/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"])
def test_connections_without_the_token(archive: Path, tmp_path: Path, ask: str) -> None:
    """More connections than the server has descriptors: silent ones, and with a part of a request, or a wrong token.
    The page gets answers, and the server closes the oldest of the others."""
    with served(tmp_path, archive) as (address, process):
        right, parts = whole(address), urlsplit(address)
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (128, 128))
        strangers = []
        for number in range(200):
            strangers.append(socket.create_connection((parts.hostname, parts.port), timeout=60))
            strangers[-1].sendall(ask.encode())
            if number % 50 == 0:
                assert whole(address) == right
        assert whole(address) == right
        first = b""
        with suppress(ConnectionError):
            while got := strangers[0].recv(1000):
                first += got
        assert first.startswith(b"HTTP/1.1 403") == ask.startswith("GET /w")
        for each in strangers:
            each.close()
        assert whole(address) == right
        assert not any("Traceback" in line or "Exception" in line for line in said(process))
