# SPDX-License-Identifier: BSD-3-Clause
"""The compilers of the machine, in all versions, and their support of hooks after inlining."""

from __future__ import annotations

import platform
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from support.tools import PROGRAMS, call, need, unavailable

C = ("gcc", "clang")
OTHER_C = ("gcc-11", "gcc-13", "gcc-14", "gcc-15", "clang-13", "clang-15", "clang-16", "clang-19", "clang-22")
"""Versions besides the machine's default, which may be missing."""


def cxx(compiler: str) -> str:
    """The C++ compiler that belongs to a C compiler: clang-19 -> clang++-19."""
    return compiler.replace("gcc", "g++").replace("clang", "clang++")


def need_version(compiler: str) -> str:
    """The path of a compiler of another version. Skips the test if the compiler is missing; the reason says if apt has
    the package."""
    found = shutil.which(compiler)
    if found:
        return found
    package = compiler.replace("clang++", "clang")
    why = f"apt has {package}" if package in _packages() else f"no package {package} in apt"
    pytest.skip(f"{compiler} is not installed ({why})")


@cache
def _packages() -> frozenset[str]:
    if not shutil.which("apt-cache"):
        return frozenset()
    words = ["apt-cache", "search", "--names-only", r"^(gcc|g\+\+|clang)-[0-9]+$"]
    done = subprocess.run(words, capture_output=True, text=True)
    return frozenset(line.split()[0] for line in done.stdout.splitlines() if line)


SLEDS = platform.machine() == "x86_64"
"""True where vtrace-cc must compile with sleds, for gcc 9, clang 11 and newer versions."""


def need_sleds() -> None:
    """Skips a test of sleds on machines for which vtrace has none."""
    if not SLEDS:
        pytest.skip(f"vtrace has no sleds for {platform.machine()}")


def has_plugin_headers(compiler: str) -> bool:
    """True if vtrace can build its plug-in for this compiler: it is gcc, with headers for plug-ins."""
    if is_clang(compiler):
        return False
    headers = call([need(compiler), "-print-file-name=plugin"], PROGRAMS).stdout.strip()
    return Path(headers, "include", "gcc-plugin.h").exists()


def need_plugin(compiler: str) -> None:
    """Skips a test of the plug-in for gcc where gcc's headers for plug-ins are missing; fails in CI."""
    if not has_plugin_headers(compiler):
        unavailable(f"{compiler} has no headers for plug-ins (Debian: gcc-12-plugin-dev)")


@cache
def is_clang(compiler: str) -> bool:
    return "clang" in call([need(compiler), "--version"], PROGRAMS).stdout


def need_after_inlining(compiler: str) -> None:
    """Skips a test of functions after inlining if the compiler inserts hooks before inlining: gcc, except on x86-64."""
    need(compiler)
    if not is_clang(compiler) and not SLEDS:
        pytest.skip(f"{compiler} has no hooks after inlining on {platform.machine()}")
