# SPDX-License-Identifier: BSD-3-Clause
"""libvtrace.so.1 on aarch64: cross-compiled, and run by qemu. Hooks record functions, and with clang sleds."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from support.build.aarch64 import GCC, TARGET, emulate, sleds, trace_of
from support.build.wrap import wrap
from support.oracles.frames import FRAMES, UNWINDS, N, holds
from support.tools import PROGRAMS, call, need

EXACT = {"main": 1, "nest": 8, "leaf": 24, "ackermann": 44, "begins": 1, "last": 1, "lib_step": 20, "lib_leaf": 40}
TWICE = 83
"""Calls of an inline function of exact.c."""


def has_plugin_headers() -> bool:
    directory = call([need(GCC), "-print-file-name=plugin"], PROGRAMS).stdout.strip()
    return Path(directory, "include", "gcc-plugin.h").exists()


@pytest.mark.parametrize("way", ["hooks", "plugin", "clang, hooks", "clang"])
def test_functions(libraries: Path, tmp_path: Path, way: str) -> None:
    """gcc's own hooks are called before inlining, those of the plug-in and of clang after it."""
    compiler, inst = (f"{need('clang')} {TARGET}", "hooks" if "hooks" in way else "compinst")
    if "clang" not in way:
        compiler, inst = need(GCC), way
    if way == "plugin" and not has_plugin_headers():
        pytest.skip(f"{GCC} has no headers for plug-ins (Debian: gcc-12-plugin-dev-aarch64-linux-gnu)")
    words = ["-vt:cc", compiler, "-vt:seq", "-vt:inst", inst, "-O2", PROGRAMS / "exact.c", PROGRAMS / "exact_lib.c"]
    wrap(tmp_path, *words, "-o", "exact", VT_PREFIX=str(libraries))
    sections = call([need("readelf"), "-SW", "exact"], tmp_path).stdout
    assert ("xray_instr_map" in sections) == (way == "clang")
    calls = trace_of(tmp_path / "exact", env={"VT_FUNCTIONS": "-known;-alias_of_known"}).calls()
    assert {name: calls[name] for name in EXACT} == EXACT
    assert calls["twice"] == (TWICE if way == "hooks" else 0)
    assert calls["known"] + calls["alias_of_known"] == 0


def test_no_sleds(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    words = ["-vt:cc", need(GCC), "-vt:seq", "-vt:inst", "sleds", "-c", "main.c"]
    done = wrap(tmp_path, *words, check=False)
    assert done.returncode == 2
    assert "vtrace has sleds for x86-64, not for aarch64-linux-gnu" in done.stderr


# ---- clang's sleds ----

Sledded = Callable[..., Path]


@pytest.fixture(scope="module")
def sledded(libraries: Path, tmp_path_factory: pytest.TempPathFactory) -> Sledded:
    """A function that compiles a source once for all tests, and copies the program into the directory of a test, where
    its local files will be."""
    place, made = tmp_path_factory.mktemp("sledded"), dict[str, Path]()

    def copied(where: Path, source: str, flags: tuple[str, ...] = ("-O2", "-pthread")) -> Path:
        if source not in made:
            made[source] = sleds(libraries, place, source, flags=flags)
        return Path(shutil.copy(made[source], where))

    return copied


@pytest.mark.parametrize("how", FRAMES)
def test_frames(sledded: Sledded, tmp_path: Path, how: str) -> None:
    holds(trace_of(sledded(tmp_path, "frames.c"), how, str(N)), FRAMES[how])


@pytest.mark.parametrize("how", ["plain", "cleanup", "rethrown", "thread"])
def test_exceptions(sledded: Sledded, tmp_path: Path, how: str) -> None:
    holds(trace_of(sledded(tmp_path, "unwinds.cc"), how, str(N)), UNWINDS[how])


@pytest.mark.parametrize(("source", "how"), [("frames.c", "longjmp"), ("unwinds.cc", "plain")])
def test_left_at_the_landing(sledded: Sledded, tmp_path: Path, source: str, how: str) -> None:
    """The program works for 20 ms where it has landed: the innermost function that it has left has ended before."""
    trace = trace_of(sledded(tmp_path, source), how, "1", "20000")
    innermost = "d5" if source == "frames.c" else "f5"
    names = {region.id: region.name.partition("(")[0] for region in trace.regions.values()}
    times = {(e.kind, names[e.attrs["region"]]): e.time for e in trace.events if "region" in e.attrs}
    assert times["Enter", "landed"] - times["Leave", innermost] > 19_000_000


REGISTERS: dict[str, dict[str, str]] = {
    "all": {},
    "full": {"VT_MAX_FLUSHES": "1"},
    "ring": {"VT_MODE": "RING"},
    "depth": {"VT_MAX_STACK_DEPTH": "2"},
    "none": {"VT_FUNCTIONS": "-*"},
    "some": {"VT_FUNCTIONS": "give_*;many;double_*;-give_l*"},
}


@pytest.mark.parametrize(
    "settings",
    ["all", "full", "depth", *(pytest.param(name, marks=pytest.mark.full) for name in ("ring", "none", "some"))],
)
def test_registers(sledded: Sledded, tmp_path: Path, settings: str) -> None:
    """Hooks change no argument and no result. The program compares them itself."""
    env = {"VT_BUFFER_SIZE": "100K", "VT_VERBOSE": "0", **REGISTERS[settings]}
    program = sledded(tmp_path, "registers.c", flags=("-O2", "-lm"))
    assert "scalars 300 structs 300 mixed 300" in emulate(program, "300", env=env).stdout
    program = sledded(tmp_path, "registers_arm.c", flags=("-O2", "-march=armv8-a+sve"))
    for bits in (128, 256, 2048):
        said = emulate(program, "3000", env=env, cpu=f"max,sve{bits}=on").stdout
        assert said == "vector 3000 kept 3000 scalable 3000\n"


def test_threads_run_while_functions_are_switched(libraries: Path, tmp_path: Path) -> None:
    library = sleds(libraries, tmp_path, "exact_lib.c", flags=("-O2", "-fPIC", "-shared"), output="libexact.so")
    program = sleds(libraries, tmp_path, "switched.c", flags=("-O2", "-DVTRACE", "-pthread", "-ldl"))
    trace = trace_of(program, "301", "3", "2000", library)
    calls = trace.calls()
    assert (calls["main"], calls["own"], calls["kept"]) == (1, 151, 150)
    assert trace.edges()["main", "own"] == 151
    ring = {"VT_MODE": "RING", "VT_BUFFER_SIZE": "256K", "VT_THREAD_BUFFER_SIZE": "256K", "VT_VERBOSE": "0"}
    assert emulate(program, "500", "3", "0", library, env=ring).stdout == "right\n"


def test_limits_and_depth(libraries: Path, tmp_path: Path) -> None:
    program = sleds(libraries, tmp_path, "exact.c", "exact_lib.c")
    (tmp_path / "rules").write_text("leaf -- 5\n* -- -1\n")
    assert trace_of(program, env={"VT_FILTER_SPEC": "rules"}).calls()["leaf"] == 5
    (tmp_path / "exact.trace").rename(tmp_path / "first.trace")
    assert trace_of(program, env={"VT_MAX_STACK_DEPTH": "1"}).calls()["main"] == 1


def test_a_program_that_knows_nothing_of_vtrace(libraries: Path, tmp_path: Path) -> None:
    flags = ("-O2", "-fxray-instrument", "-fxray-instruction-threshold=1", "-fno-xray-function-index")
    words = [TARGET, *flags, "-c", PROGRAMS / "exact.c", PROGRAMS / "exact_lib.c"]
    call([need("clang"), *words], tmp_path)
    call([need("clang"), TARGET, "exact.o", "exact_lib.o", "-o", "exact"], tmp_path)  # without a library of XRay
    env = {"QEMU_SET_ENV": f"LD_PRELOAD={libraries}/libvtrace.so.1", "VT_FUNCTIONS": "*;-known"}
    calls = trace_of(tmp_path / "exact", env=env).calls()
    assert {name: calls[name] for name in EXACT} == EXACT
    assert calls["known"] == 0
