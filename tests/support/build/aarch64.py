# SPDX-License-Identifier: BSD-3-Clause
"""vtrace for aarch64: built by Debian's cross compiler, and programs that qemu runs."""

from __future__ import annotations

import fcntl
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from support.build.arm_root import install
from support.build.run import unify
from support.build.wrap import wrap
from support.oracles.check import check
from support.readers.archive import Trace
from support.tools import PROGRAMS, ROOT, Done, call, need, unavailable

GCC = "aarch64-linux-gnu-gcc"
TARGET = "--target=aarch64-linux-gnu"
"""clang's option."""
SYSTEM = Path("/usr/aarch64-linux-gnu")
"""The directory in which qemu finds the loader and libraries of a program."""


LARGE_PAGES = ROOT / "tests" / "c" / "large_pages.h"


def cross_build(place: Path, flags: str = "") -> Path:
    """Builds vtrace's libraries for aarch64 in a directory, once for all pytest workers of a session. flags: of the
    compiler; with flags, builds only the libraries that a traced program needs."""
    for tool in (GCC, "aarch64-linux-gnu-nm", "qemu-aarch64"):
        need(tool)
    if not (SYSTEM / "lib/libc.so.6").exists():
        unavailable("no C library for aarch64: install libc6-dev-arm64-cross")
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            _build(place, flags)
    assert (place / "built").exists(), "building vtrace for aarch64 failed in an earlier test: see its output"
    return place


def _build(place: Path, flags: str) -> None:
    place.mkdir()
    system = ("-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64", "-DCMAKE_BUILD_TYPE=Debug")
    tools = (f"-DCMAKE_C_COMPILER={need(GCC)}", f"-DCMAKE_NM={need('aarch64-linux-gnu-nm')}")
    call([need("cmake"), "-S", ROOT, "-B", place, *tools, *system, f"-DCMAKE_C_FLAGS={flags}"], place)
    targets = ("--target", "vtrace", "inside", "io") if flags else ()
    said = call([need("cmake"), "--build", place, *targets, "-j2"], place, timeout=600)
    assert "warning" not in said.stderr
    (place / "gcc_plugin.cc").write_bytes((ROOT / "csrc/hooks/gcc_plugin.cc").read_bytes())
    if not flags:
        install(place)
    (place / "built").touch()


def emulate(
    program: Path,
    *args: str | Path,
    env: Mapping[str, str] | None = None,
    cpu: str = "max,sve=off",
    code: int | None = 0,
    launch: Sequence[str] = (),
    system: Path = SYSTEM,
    space: int = 0,
) -> Done:
    """Runs a program of aarch64 with the libraries below system, and the words launch before qemu. An exit code other
    than code is an assertion error; code None allows any. space: the bits of the program's addresses."""
    qemu = [*launch, need("qemu-aarch64"), "-cpu", cpu, "-L", str(system), *(["-R", str(1 << space)] if space else [])]
    done = call([*qemu, f"./{program.name}", *args], program.parent, env, check=False)
    assert code is None or done.returncode == code, str(done)
    return done


def sleds(libraries: Path, where: Path, *sources: str, flags: tuple[str, ...] = ("-O2",), output: str = "") -> Path:
    """Compiles programs of tests/programs with clang's sleds."""
    cxx = sources[0].endswith(".cc")
    if cxx:
        need("aarch64-linux-gnu-g++")  # clang++ uses its library
    name, option = ("clang++", "-vt:cxx") if cxx else ("clang", "-vt:cc")
    files = [PROGRAMS / source for source in sources]
    program = where / (output or files[0].stem)
    words = [option, f"{need(name)} {TARGET}", "-vt:seq", "-vt:inst", "sleds", "-I", ROOT / "csrc/include", *flags]
    wrap(where, *words, *files, "-o", program, wrapper="vtrace-cxx" if cxx else "vtrace-cc", VT_PREFIX=str(libraries))
    return program


def trace_of(
    program: Path,
    *args: str | Path,
    env: Mapping[str, str] | None = None,
    complete: bool = True,
    code: int = 0,
    space: int = 0,
) -> Trace:
    """The archive of a program of aarch64, unified by this machine's vtunify."""
    emulate(program, *args, env=env, code=code, space=space)
    unify(program.parent, program.name)
    return check(program.with_suffix(".trace"), complete=complete)


def content(trace: Trace) -> list[tuple[str, str, Counter[str], Counter[str]]]:
    """An archive without times and addresses: for each location its name and kind, the number of its events by kind,
    and the number of its enters by region. Sorted, since threads get their locations in any order."""
    found = [
        (
            x.name,
            x.kind,
            trace.kinds(x.id),
            Counter(trace.region_of(e).name for e in trace.of(x.id) if e.kind == "Enter"),
        )
        for x in trace.locations.values()
    ]
    return sorted(found, key=lambda each: (each[0], each[1], sorted(each[2].items()), sorted(each[3].items())))
