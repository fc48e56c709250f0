# SPDX-License-Identifier: BSD-3-Clause
"""libvtrace.so.1 on aarch64: cross-compiled, and run by qemu. Functions are recorded by hooks there."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.build.run import unify
from support.build.wrap import wrap
from support.oracles.check import check
from support.tools import PROGRAMS, ROOT, call, need, unavailable

GCC = "aarch64-linux-gnu-gcc"
EXACT = {"main": 1, "nest": 8, "leaf": 24, "ackermann": 44, "begins": 1, "last": 1, "lib_step": 20, "lib_leaf": 40}
TWICE = 83
"""Calls of an inline function of exact.c."""


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with libvtrace.so.1 and the hooks for aarch64."""
    for tool in (GCC, "aarch64-linux-gnu-nm", "qemu-aarch64"):
        need(tool)
    if not Path("/usr/aarch64-linux-gnu/lib/libc.so.6").exists():
        unavailable("no C library for aarch64: install libc6-dev-arm64-cross")
    place = tmp_path_factory.mktemp("aarch64")
    system = ("-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64", "-DCMAKE_BUILD_TYPE=Debug")
    tools = (f"-DCMAKE_C_COMPILER={need(GCC)}", f"-DCMAKE_NM={need('aarch64-linux-gnu-nm')}")
    call([need("cmake"), "-S", ROOT, "-B", place, *tools, *system], place)
    said = call([need("cmake"), "--build", place, "--target", "vtrace", "inside", "-j2"], place, timeout=600)
    assert "warning" not in said.stderr
    return place


def has_plugin_headers() -> bool:
    directory = call([need(GCC), "-print-file-name=plugin"], PROGRAMS).stdout.strip()
    return Path(directory, "include", "gcc-plugin.h").exists()


@pytest.mark.parametrize("way", ["hooks", "plugin", "clang"])
def test_functions(libraries: Path, tmp_path: Path, way: str) -> None:
    """gcc's own hooks are called before inlining, those of the plug-in and of clang after it."""
    compiler, inst = (f"{need('clang')} --target=aarch64-linux-gnu", "hooks") if way == "clang" else (need(GCC), way)
    if way == "plugin" and not has_plugin_headers():
        pytest.skip(f"{GCC} has no headers for plug-ins (Debian: gcc-12-plugin-dev-aarch64-linux-gnu)")
    (libraries / "gcc_plugin.cc").write_bytes((ROOT / "csrc/hooks/gcc_plugin.cc").read_bytes())
    words = ["-vt:cc", compiler, "-vt:seq", "-vt:inst", inst, "-O2", PROGRAMS / "exact.c", PROGRAMS / "exact_lib.c"]
    wrap(tmp_path, *words, "-o", "exact", VT_PREFIX=str(libraries))
    call([need("qemu-aarch64"), "-L", "/usr/aarch64-linux-gnu", "./exact"], tmp_path, {"VT_FUNCTIONS": "-known"})
    unify(tmp_path, "exact")
    calls = check(tmp_path / "exact.trace").calls()
    assert {name: calls[name] for name in EXACT} == EXACT
    assert calls["twice"] == (TWICE if way == "hooks" else 0)
    assert calls["known"] + calls["alias_of_known"] == 0


def test_no_sleds(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    words = ["-vt:cc", need(GCC), "-vt:seq", "-vt:inst", "sleds", "-c", "main.c"]
    done = wrap(tmp_path, *words, check=False)
    assert done.returncode == 2
    assert "vtrace has sleds for x86-64, not for aarch64-linux-gnu" in done.stderr
