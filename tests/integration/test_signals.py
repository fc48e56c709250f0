# SPDX-License-Identifier: BSD-3-Clause
"""Traced signal handlers that interrupt recording, flushes and malloc: all data stay valid, and lost events count."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import run, unify
from support.oracles.check import check
from support.oracles.ledger import ledger
from support.tools import ROOT, call, need
from vtrace.paths import LIB

SMALL = {
    "VT_BUFFER_SIZE": "100K", "VT_THREAD_BUFFER_SIZE": "100K", "VT_MAX_FLUSHES": "0", "VT_COMPRESSION": "no",
}  # fmt: skip
WRAPPED = ("vt_chunk_take", "vt_chunk_give", "vt_chunk_keep", "vt_chunk_append")


def account(program: Path, where: Path, how: str, threads: int, calls: int = 20000) -> None:
    """Runs timer.c, and checks that recorded and lost events are all events. Each flush may be one that a handler has
    interrupted, whose record is lost: then the program runs once more."""
    for _ in range(5):
        begun, handlers, jumps = map(int, run(program, where, how, str(calls), str(threads), env=SMALL).stdout.split())
        found = ledger(where, "timer")
        assert handlers >= 60
        assert found.lost == found.lost_by_reason.total() == found.lost_by_reason["SIGNAL"]
        # A jump skips the leaves of two functions, and may end the recording of one event.
        assert -3 * jumps <= found.functions + found.lost - 2 * begun <= jumps
        assert (jumps > 0) == (how == "jump")
        if found.lost and found.kinds["FLUSH"]:
            break
    assert found.lost, "no handler has interrupted the recording of an event: the test checks nothing"
    assert found.kinds["FLUSH"], "no flush has happened: the test checks nothing"


@pytest.mark.parametrize("threads", [0, 3])
@pytest.mark.parametrize("how", ["here", "other", "jump"])
def test_timer(build: Builder, tmp_path: Path, how: str, threads: int) -> None:
    account(build("timer.c", flags=("-O1", "-pthread")), tmp_path, how, threads)
    unify(tmp_path, "timer")
    if not threads:
        check(tmp_path / "timer.trace")


@pytest.fixture(scope="module")
def guarded(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """timer.c linked with the core; chunks without an owner are write-protected (tests/c/owned.c)."""
    where = tmp_path_factory.mktemp("guarded")
    traced = ["-g", "-O2", "-finstrument-functions", "-c", ROOT / "tests/programs/timer.c"]
    call([need("gcc"), *traced, "-o", "timer.o"], where)
    objects = [ROOT / "tests/c/owned.c", *build.objects("core", "funwrap", checked=False)]
    wraps = [f"-Wl,--wrap={name}" for name in WRAPPED]
    words = [need("gcc"), "-std=gnu11", "-g", "-O2", "timer.o", *objects, *wraps, "-o", "timer", "-lpthread", "-ldl"]
    call(words, where)
    return where / "timer"


@pytest.mark.parametrize("how", ["here", "other", "jump"])
def test_no_store_into_a_chunk_that_is_not_owned(guarded: Path, tmp_path: Path, how: str) -> None:
    account(guarded, tmp_path, how, 0)


@pytest.mark.full
@pytest.mark.parametrize("how", ["here", "other", "jump"])
def test_no_store_into_a_chunk_that_is_not_owned_for_long(guarded: Path, tmp_path: Path, how: str) -> None:
    account(guarded, tmp_path, how, 0, 3_000_000)


def test_runtime_calls_no_functions_that_are_unsafe_in_handlers(tmp_path: Path) -> None:
    """libvtrace.so.1 refers to no function that allocates memory, takes a lock or ends the program. dlopen and getenv
    are allowed, because vtrace calls them before the program begins."""
    undefined = call([need("nm"), "-D", "-u", "-P", LIB / "libvtrace.so.1"], tmp_path).stdout.split()
    names = {word.partition("@")[0] for word in undefined}
    assert {"dlsym", "memcpy"} <= names
    never = "malloc calloc realloc free posix_memalign aligned_alloc mmap open write printf fprintf puts fwrite fputs"
    assert not names & {*never.split(), "exit", "_exit", "abort", "pthread_mutex_lock", "setenv", "putenv"}


def test_program_gets_each_sigpipe(build: Builder, tmp_path: Path) -> None:
    """A signal that arrives while vtrace defines a file reaches the program."""
    program = build("pipe_signals.c", flags=("-O2", "-pthread"), plain=True)
    done = call(["vtrace", "run", "--io", program, "2000"], tmp_path)
    assert done.stdout == "2000\n", str(done)
