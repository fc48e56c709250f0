# SPDX-License-Identifier: BSD-3-Clause
"""The core under ThreadSanitizer, and traced programs under ASan, UBSan and valgrind. make sanitize runs all tests."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.build.builder import Builder
from support.build.run import run, unify
from support.oracles.check import check
from support.oracles.heap import growth
from support.oracles.ledger import ledger
from support.readers.sample_dump import samples
from support.tools import DEFAULTS, ROOT, call, environment, need, need_sanitizer

SMALL = {"VT_BUFFER_SIZE": "100K", "VT_THREAD_BUFFER_SIZE": "100K", "VT_MAX_FLUSHES": "0"}
VALGRIND = [
    "-q", "--leak-check=full", "--show-leak-kinds=definite", "--errors-for-leak-kinds=definite", "--error-exitcode=99",
    f"--suppressions={ROOT / 'tests/support/build/valgrind.supp'}",
]  # fmt: skip
# Program, arguments, and calls of work in the trace (None: the number varies).
PROGRAMS = [
    ("many.c", ("20000",), 20000),
    ("threads.c", ("together", "5", "3000"), 18000),
    ("threads.c", ("after", "5", "1000"), 6000),
    ("forks.c", ("return",), 20),
    ("begets.c", ("vfork", "5", "2", "3000"), None),
    ("endings.c", ("thread", "100"), 100),
    ("endings.c", ("atexit", "100"), 200),
    ("closes.c", ("20000",), 20000),
    ("descriptors.c", ("own", "20000"), 20000),
    ("timer.c", ("here", "20000", "0"), None),
]
UNITS = ["gap", "address", "handler", "handler-other-stack", "stale", "chunks", "abi", "reuse", "errno"]
CORE = [*(ROOT / "csrc/core").glob("*.c"), *(ROOT / "csrc/funwrap").glob("*.c")]
CHECKS = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]


RACES = ["-g", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=thread"]


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The objects of the recording core with ThreadSanitizer, for programs and libraries."""
    place = tmp_path_factory.mktemp("core")
    words = [need("gcc"), "-std=gnu11", *RACES, "-fPIC", "-fvisibility=hidden", "-c", *map(str, CORE)]
    subprocess.run(words, cwd=place, check=True)
    return [*place.glob("*.o")]


def link(core: list[Path], target: Path, *words: str | Path) -> Path:
    """Compiles other sources with ThreadSanitizer and links them with the core."""
    texts = [need("gcc"), "-std=gnu11", *RACES, *map(str, words), *map(str, core)]
    subprocess.run([*texts, "-o", str(target), "-lpthread", "-ldl"], check=True)
    return target


@pytest.fixture(scope="module")
def stress(core: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return link(core, tmp_path_factory.mktemp("stress") / "stress", ROOT / "tests/c/stress.c")


def race(stress: Path, where: Path, scenario: str) -> None:
    # Threads that are running at exit are not leaks.
    settings = {
        **SMALL,
        **DEFAULTS,
        "VT_FILE_PREFIX": "t",
        "VT_COMPRESSION": "no",
        "TSAN_OPTIONS": "report_thread_leaks=0",
    }
    done = subprocess.run(
        [stress, scenario], cwd=where, env=environment(settings), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "ThreadSanitizer" not in done.stderr
    if scenario != "end":
        found = ledger(where, "t")
        control = sum(found.kinds[kind] for kind in ("LOST", "FLUSH", "THREAD", "TIME", "PROCESSOR_WAIT", "BLOCKED"))
        assert found.kinds.total() - control + found.lost == int(done.stdout)


@pytest.mark.parametrize("scenario", ["first", "record", "chunks", "adopt", "name", "load", "end"])
def test_races(stress: Path, tmp_path: Path, scenario: str) -> None:
    race(stress, tmp_path, scenario)


@pytest.fixture(scope="module")
def threads_checked(core: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with libvtrace.so.1 and libvtrace-io.so, built with ThreadSanitizer."""
    place = tmp_path_factory.mktemp("threads")
    shared = ["-g", "-O1", "-fsanitize=thread", "-shared", "-fPIC", "-fvisibility=hidden"]
    script = f"-Wl,-soname,libvtrace.so.1,-z,nodelete,--version-script={ROOT / 'csrc/core/libvtrace.map'}"
    link(core, place / "libvtrace.so.1", "-shared", script)
    words = [need("gcc"), "-std=gnu11", *shared, "-fno-builtin", "-U_FORTIFY_SOURCE", "-fno-plt", "-Icsrc"]
    words += [
        '-DVT_VERSION="test"',
        *map(str, (ROOT / "csrc/iowrap").glob("*.c")),
        "-o",
        str(place / "libvtrace-io.so"),
    ]
    call([*words, f"-L{place}", "-l:libvtrace.so.1", "-ldl"], ROOT)
    return place


@pytest.mark.parametrize("program", ["io_threads", "io_aio"])
def test_races_of_io(threads_checked: Path, tmp_path: Path, program: str) -> None:
    """Threads open, use and close each other's descriptors: the shim has no data race, and the trace is valid."""
    source = ROOT / "tests/programs" / f"{program}.c"
    libraries = [f"-L{threads_checked}", "-Wl,--no-as-needed", "-l:libvtrace-io.so", "-l:libvtrace.so.1", "-lpthread"]
    call([need("gcc"), "-g", "-O1", "-w", "-fsanitize=thread", source, "-o", program, *libraries], tmp_path)
    words = ["sh", "-c", f'exec "./{program}" </dev/null 9>told']
    env = {"VT_IOTRACE": "yes", "VT_MAX_FLUSHES": "0", "LD_LIBRARY_PATH": str(threads_checked)}
    # Otherwise TSan installs its handlers with the instrumented sigaction before it is initialised.
    options = ["report_thread_leaks=0", *(f"handle_{name}=0" for name in "segv sigbus abort sigill sigfpe".split())]
    done = call(words, tmp_path, env | {"TSAN_OPTIONS": ":".join(options)}, check=False)
    assert done.returncode == 0, done.stderr
    assert "ThreadSanitizer" not in done.stderr
    unify(tmp_path, program)
    check(tmp_path / f"{program}.trace")


@pytest.fixture(scope="module")
def sampler_checked(core: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with libvtrace.so.1 with the sampler, built with ThreadSanitizer, and a library to load. The wrapper
    of pthread_create is left out: it would call that of libc, and the sanitizer would not know the threads."""
    place = tmp_path_factory.mktemp("sampler")
    script = f"-Wl,-soname,libvtrace.so.1,-z,nodelete,--version-script={ROOT / 'csrc/core/libvtrace.map'}"
    sources = [path for folder in ("sampling", "providers") for path in (ROOT / "csrc" / folder).glob("*.c")]
    link(core, place / "libvtrace.so.1", "-shared", "-fPIC", "-fvisibility=hidden", script, *sources)
    plugin = ROOT / "tests/programs/sampled_plugin.c"
    call([need("gcc"), "-g", "-O1", "-w", "-shared", "-fPIC", plugin, "-o", place / "plugin.so"], ROOT)
    return place


def sampled_races(sampler_checked: Path, where: Path, clock: str) -> None:
    """The handler may interrupt ThreadSanitizer while it has a lock that the handler needs, too, or takes memory for a
    clock (DenseSlabAlloc::Refill, without a lock): such a run hangs or crashes there, and is repeated. A sample that a
    thread takes when ThreadSanitizer has ended it, and before main joins it, seems to race with all that follows: such
    a report does not say where the thread began."""
    source = ROOT / "tests/programs/sampled_races.c"
    libraries = [f"-L{sampler_checked}", "-Wl,--no-as-needed", "-l:libvtrace.so.1", "-lpthread", "-ldl"]
    call([need("gcc"), *RACES, "-finstrument-functions", source, "-o", "sampled_races", *libraries], where)
    env = {"VT_SAMPLE_RATE": "2000", "VT_SAMPLE_CLOCK": clock, "LD_LIBRARY_PATH": str(sampler_checked)}
    options = ["report_thread_leaks=0", *(f"handle_{name}=0" for name in "segv sigbus abort sigill sigfpe".split())]
    words = [need("timeout"), "20", where / "sampled_races", sampler_checked / "plugin.so"]
    for _ in range(4):
        done = call(words, where, env | {"TSAN_OPTIONS": ":".join(options)}, check=False)
        if done.returncode not in (124, -signal.SIGSEGV) or "ThreadSanitizer" in done.stderr:
            break
    assert done.stdout == "3360\n", done.stderr
    reports = [
        text for text in done.stderr.split("=" * 18)
        if all(f"Thread {name} (" in text for name in re.findall(r"by thread (T\d+)", text))
    ]  # fmt: skip
    # Interrupted, the sanitizer also reports accesses that both hold one mutex.
    assert not any("csrc/" in text for text in reports), done.stderr
    assert len({sample["location"] for sample in samples(where, "sampled_races")}) > 3


@pytest.mark.parametrize("clock", ["cpu", "perf"])
def test_races_of_the_sampler(sampler_checked: Path, tmp_path: Path, clock: str) -> None:
    """Samples while threads begin and end, libraries come and go, and the program forks: no data race."""
    sampled_races(sampler_checked, tmp_path, clock)


@pytest.mark.full
@pytest.mark.parametrize("turn", range(10))
def test_races_of_the_sampler_again(sampler_checked: Path, tmp_path: Path, turn: int) -> None:
    sampled_races(sampler_checked, tmp_path, "wall")


def test_races_of_sums(core: list[Path], tmp_path: Path) -> None:
    """Threads start and end one after the other and at the same time: the sums of their memory agree; no race."""
    words = [f"-I{ROOT / 'csrc'}", ROOT / "tests/c/sums.c", ROOT / "csrc/memwrap/sums.c"]
    done = call([link(core, tmp_path / "sums", *words)], tmp_path, check=False)
    assert (done.returncode, done.stdout) == (0, "ok\n"), str(done)


def test_races_of_the_heap(core: list[Path], tmp_path: Path) -> None:
    """The memory shim, with its functions renamed: preloaded it would come before the sanitizer."""
    flags = ["-fno-builtin", f"-I{ROOT / 'csrc'}", '-DVT_VERSION="test"']
    files = [ROOT / "csrc/memwrap" / name for name in ("sums.c", "libraries.c", "sites.c")]
    program = link(core, tmp_path / "heap", *flags, ROOT / "tests/c/heap.c", *files)
    settings = {"VT_MEMTRACE": "yes", "VT_MEMTRACE_LIBRARIES": "yes", "VT_MEMTRACE_CALLSITES": "1K"}
    done = call([program], tmp_path, settings, check=False)
    assert (done.returncode, done.stdout) == (0, "ok\n"), str(done)
    assert "ThreadSanitizer" not in done.stderr


@pytest.mark.full
@pytest.mark.parametrize("turn", range(10))
@pytest.mark.parametrize("scenario", ["first", "chunks", "adopt", "name", "load", "end"])
def test_races_again(stress: Path, tmp_path: Path, scenario: str, turn: int) -> None:
    race(stress, tmp_path, scenario)


@pytest.fixture(scope="module")
def checked(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with libvtrace.so.1 under ASan and UBSan, for programs with the same sanitizers."""
    place = tmp_path_factory.mktemp("checked")
    script = f"-Wl,-soname,libvtrace.so.1,-z,nodelete,--version-script={ROOT / 'csrc/core/libvtrace.map'}"
    objects = build.objects("core", "funwrap")
    call([need("gcc"), *CHECKS, "-shared", script, *objects, "-o", "libvtrace.so.1", "-lpthread", "-ldl"], place)
    return place


@pytest.mark.parametrize(("source", "args", "calls"), PROGRAMS)
def test_address_and_undefined(
    build: Builder, checked: Path, tmp_path: Path, source: str, args: tuple[str, ...], calls: int | None
) -> None:
    name = source.removesuffix(".c")
    env = {**SMALL, **DEFAULTS, "LD_LIBRARY_PATH": str(checked)}
    done = run(build(source, flags=(*CHECKS, "-pthread")), tmp_path, *args, env=env)
    assert "Sanitizer" not in done.stderr
    assert "runtime error" not in done.stderr
    assert "tool vtrace development" in (tmp_path / f"{name}.uctl").read_text(), "the program used another library"
    unify(tmp_path, name)
    assert calls is None or check(tmp_path / f"{name}.trace").calls()["work"] == calls


@pytest.mark.full
@pytest.mark.parametrize(("source", "args", "calls"), PROGRAMS)
def test_address_and_undefined_with_clang(
    build: Builder, tmp_path: Path, source: str, args: tuple[str, ...], calls: int | None
) -> None:
    need_sanitizer("clang", "asan")
    done = run(build(source, compiler="clang", flags=(*CHECKS, "-pthread")), tmp_path, *args, env=SMALL)
    assert "Sanitizer" not in done.stderr
    assert "runtime error" not in done.stderr


@pytest.fixture(scope="module")
def units(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place, objects = tmp_path_factory.mktemp("units"), build.objects("core", "funwrap", checked=False)
    call([need("gcc"), "-std=gnu11", "-g", ROOT / "tests/c/core.c", *objects, "-o", "core", "-lpthread", "-ldl"], place)
    return place / "core"


def valgrind(where: Path, program: Path, *args: str) -> None:
    done = call([need("valgrind"), *VALGRIND, program, *args], where, SMALL, check=False)
    assert done.returncode == 0, str(done)
    assert not re.search(r"^==\d+==", done.stderr, re.MULTILINE), str(done)


def some(of: list[Any], *which: int) -> list[Any]:
    """Parameters; all but those with the given indices are marked full."""
    marks = [() if i in which else (pytest.mark.full,) for i in range(len(of))]
    return [pytest.param(*(x if isinstance(x, tuple) else (x,)), marks=m) for x, m in zip(of, marks, strict=True)]


@pytest.mark.parametrize("scenario", some(UNITS, 2, 5))
def test_units_in_valgrind(units: Path, tmp_path: Path, scenario: str) -> None:
    valgrind(tmp_path, units, scenario)


@pytest.mark.parametrize(("source", "args", "calls"), some([*PROGRAMS, ("jump.c", (), 0)], 0, 1, 4, 9))
def test_programs_in_valgrind(
    build: Builder, tmp_path: Path, source: str, args: tuple[str, ...], calls: int | None
) -> None:
    valgrind(tmp_path, build(source, flags=("-g", "-O1", "-pthread")), *args)


def test_memory_in_valgrind(build: Builder, tmp_path: Path) -> None:
    """valgrind's allocator comes after the shim and does not replace it: no errors, and the heap balances."""
    program = build("heap_threads.c", flags=("-g", "-O1", "-fno-builtin", "-pthread"))
    words = [need("valgrind"), *VALGRIND, "--soname-synonyms=somalloc=nouserintercepts", program, "4", "300", "40"]
    done = call(words, tmp_path, {**SMALL, "VT_MEMTRACE": "yes"}, check=False)
    assert done.returncode == 0, str(done)
    assert not re.search(r"^==\d+==", done.stderr, re.MULTILINE), str(done)
    unify(tmp_path, "heap_threads")
    trace = check(tmp_path / "heap_threads.trace")
    assert trace.calls()["malloc"] > 4 * 300
    assert growth(trace) == (0, 0)


@pytest.mark.full
@pytest.mark.parametrize(("source", "ranks"), [("mpi_collectives.c", 4), ("mpi_requests.c", 3), ("mpi_comms.c", 4)])
def test_valgrind_mpi(build: Builder, tmp_path: Path, source: str, ranks: int) -> None:
    program = build(source, compiler="mpicc", flags=("-g", "-O1"))
    words = [need("mpiexec"), "-n", str(ranks), need("valgrind"), *VALGRIND, program]
    done = call(words, tmp_path, check=False, timeout=400)
    assert done.returncode == 0, str(done)
