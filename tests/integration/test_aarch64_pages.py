# SPDX-License-Identifier: BSD-3-Clause
"""Pages of 16 and 64 KiB, and address spaces of 39 and 42 bits, on aarch64. qemu has pages of 4 KiB: the runtime is
compiled with tests/c/large_pages.h, which changes its system calls like a kernel with larger pages."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.build.aarch64 import GCC, LARGE_PAGES, TARGET, cross_build, sleds, trace_of
from support.build.wrap import wrap
from support.oracles.frames import CAUGHT, N
from support.readers.archive import Trace
from support.tools import PROGRAMS, ROOT, call, need

SMALL = {"VT_BUFFER_SIZE": "128K", "VT_THREAD_BUFFER_SIZE": "128K"}
THREADS = ("together", "3", "20000")
CALLS = Counter({"main": 1, "body": 3, "work": 4 * 20000})
"""Of threads.c with THREADS."""


@dataclass(frozen=True)
class Kernel:
    """A kernel with large pages, or with addresses of few bits (0: qemu's own)."""

    page: int = 4096
    bits: int = 0

    def trace(
        self, program: Path, *args: str | Path, env: dict[str, str] | None = None, code: int = 0, complete: bool = True
    ) -> Trace:
        settings = {"TEST_PAGE": str(self.page), **(env or {})}
        return trace_of(program, *args, env=settings, code=code, complete=complete, space=self.bits)


KERNELS = {"16K": Kernel(page=16384), "64K": Kernel(page=65536), "39 bits": Kernel(bits=39), "42 bits": Kernel(bits=42)}


@pytest.fixture(params=["64K", "39 bits", *(pytest.param(name, marks=pytest.mark.full) for name in ("16K", "42 bits"))])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    return KERNELS[request.param]


@pytest.fixture(scope="module")
def large(session_directory: Path) -> Path:
    """Libraries whose system calls for memory are those of a kernel with pages of TEST_PAGE bytes."""
    return cross_build(session_directory / "large_pages", f"-I{ROOT / 'csrc'} -include {LARGE_PAGES}")


@pytest.fixture(scope="module")
def programs(large: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with programs of tests/programs: hooks of gcc, and clang's sleds in switched and unwinds."""
    place = tmp_path_factory.mktemp("programs")
    for name in ("threads", "forks", "endings"):
        words = ["-vt:cc", need(GCC), "-vt:seq", "-w", "-pthread", "-O1", PROGRAMS / f"{name}.c"]
        wrap(place, *words, "-o", name, VT_PREFIX=str(large))
    sleds(large, place, "exact_lib.c", flags=("-O2", "-fPIC", "-shared"), output="libexact.so")
    sleds(large, place, "switched.c", flags=("-O2", "-DVTRACE", "-pthread", "-ldl"))
    return place


def copied(programs: Path, name: str, where: Path) -> Path:
    """Local files are beside the program, so each test has a copy."""
    return Path(shutil.copy(programs / name, where))


@pytest.mark.parametrize("settings", [{}, SMALL], ids=["large buffer", "small buffer"])
def test_threads(kernel: Kernel, programs: Path, tmp_path: Path, settings: dict[str, str]) -> None:
    """With a small buffer each thread writes its chunks out in mid-run, too."""
    trace = kernel.trace(copied(programs, "threads", tmp_path), *THREADS, env=settings)
    assert trace.calls() == CALLS
    assert trace.kinds()["BufferFlush"] == (8 if settings else 0)


@pytest.mark.parametrize("settings", [{}, SMALL], ids=["large buffer", "small buffer"])
def test_killed(kernel: Kernel, programs: Path, tmp_path: Path, settings: dict[str, str]) -> None:
    """vtunify finds all events in the mapped buffer that a killed process leaves."""
    program = copied(programs, "endings", tmp_path)
    trace = kernel.trace(program, "kill", "30000", env=settings, code=-9, complete=False)
    assert trace.calls() == Counter({"main": 1, "work": 30000})
    assert trace.markers  # the process was killed


def test_forks(kernel: Kernel, programs: Path, tmp_path: Path) -> None:
    trace = kernel.trace(copied(programs, "forks", tmp_path), "grandchild", complete=False)
    calls = [trace.calls(x.id) for x in trace.locations.values()]
    assert [(each["child"], each["work"]) for each in calls] == [(0, 13), (1, 7), (1, 7)]


def test_switched_functions(kernel: Kernel, programs: Path, tmp_path: Path) -> None:
    """Sleds are patched while threads execute them: mprotect of whole pages of code."""
    program, library = (copied(programs, name, tmp_path) for name in ("switched", "libexact.so"))
    calls = kernel.trace(program, "301", "3", "2000", library).calls()
    assert (calls["main"], calls["own"], calls["kept"]) == (1, 151, 150)


def test_exceptions_of_a_program_without_vtrace(kernel: Kernel, large: Path, tmp_path: Path) -> None:
    """The loader has protected the page with the address of the personality routine, which vtrace replaces."""
    need("aarch64-linux-gnu-g++")
    flags = ("-O2", "-pthread", "-fxray-instrument", "-fxray-instruction-threshold=1", "-fno-xray-function-index")
    call([need("clang++"), TARGET, *flags, "-c", PROGRAMS / "unwinds.cc"], tmp_path)
    call([need("clang++"), TARGET, "-pthread", "unwinds.o", "-Wl,-z,now", "-o", "unwinds"], tmp_path)
    env = {"QEMU_SET_ENV": f"LD_PRELOAD={large}/libvtrace.so.1,VT_FUNCTIONS=*"}
    edges = kernel.trace(tmp_path / "unwinds", "plain", str(N), env=env).edges()
    assert {edge: edges[edge] for edge in CAUGHT} == CAUGHT
    assert edges["catcher", "at_landing"] == N
