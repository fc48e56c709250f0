# SPDX-License-Identifier: BSD-3-Clause
"""The plug-in with which gcc keeps functions out of line, or calls vtrace's hooks after inlining
(csrc/hooks/gcc_plugin.cc). vtrace compiles it for the user's gcc at first use, and keeps it in the cache. Asks a
compiler for its kind: gcc or clang."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from vtrace.errors import VtraceError
from vtrace.wrappers.compile.cache import cache_directory, check_trusted, make_cache_directory

SOURCE = "gcc_plugin.cc"
_OWN = re.compile("-f(no-)?instrument-functions.*")
"""Options of the user that choose hooks before inlining."""
_CXX = ("g++", "c++", "clang++")
_LANGUAGES = {"C": "c", "C++": "c++", "Fortran": "f95"}


def answer(words: list[str]) -> str:
    """The text that a command prints on standard output. Raises VtraceError if it cannot run."""
    try:
        done = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise VtraceError(f"cannot run {words[0]}: {error.strerror}", "check its permissions") from None
    return done.stdout.decode(errors="replace")


def is_clang(version: str) -> bool:
    """True for clang's answer to --version, and for those of compilers made from it."""
    return re.search(r"clang|Intel.*oneAPI DPC", version) is not None


def is_gcc(version: str) -> bool:
    """True for the answer to --version of a compiler of gcc."""
    return "Free Software Foundation" in version and not is_clang(version)


def without_plugin(compiler: list[str], args: Sequence[str], directory: str) -> str:
    """The reason why vtrace cannot build its plug-in for a command of gcc, with a remedy; "" if it can. directory: of
    libvtrace.so.1."""
    own = next((arg for arg in args if _OWN.fullmatch(arg)), None)
    if own:
        return f"{own} excludes the plug-in"
    if not os.path.exists(os.path.join(directory, SOURCE)):
        return f"{directory} lacks {SOURCE}"
    headers = _headers(compiler)  # relative if gcc has none
    if not (os.path.isabs(headers) and os.path.exists(os.path.join(headers, "gcc-plugin.h"))):
        number = answer([*compiler, "-dumpversion"]).strip().partition(".")[0]
        return f"no headers for plug-ins of this gcc: install gcc-{number}-plugin-dev (Debian) or gcc-plugin-devel"
    if not _cxx():
        return "no C++ compiler in PATH for the plug-in: install g++"
    failed = _failed(_path(compiler, directory))
    if os.path.exists(failed):
        return f"the plug-in cannot be built: {failed} says why; remove it to try again"
    return ""


def without_cache(compiler: list[str], directory: str) -> str:
    """The reason why the cache has no plug-in for a command of gcc and cannot keep one, with a remedy; "" if it has or
    can. Requires that without_plugin is empty."""
    path = _path(compiler, directory)
    try:
        check_trusted(path)
    except VtraceError as error:
        return str(error)
    at = cache_directory()
    while not os.path.exists(at):
        at = os.path.dirname(at) or "."
    if os.path.exists(path) or os.access(at, os.W_OK):
        return ""
    return f"{cache_directory()} is not writable: set VT_SHIM_CACHE to a writable directory"


def plugin_flags(compiler: list[str], language: str, directory: str, *, parts: Sequence[str]) -> list[str]:
    """The flags of gcc for parts of the plug-in; builds the plug-in if the cache has none. Requires that
    without_plugin is empty. Raises VtraceError if the plug-in cannot be built or gcc does not load it."""
    path = _built(compiler, language, directory)
    name = os.path.basename(path).removesuffix(".so")  # up to its first "-" for gcc
    return [f"-fplugin={path}", *(f"-fplugin-arg-{name}-{part}" for part in parts)]


def _built(compiler: list[str], language: str, directory: str) -> str:
    path = _path(compiler, directory)
    check_trusted(path)
    if not os.path.exists(path):
        try:
            make_cache_directory()
            with tempfile.TemporaryDirectory(dir=cache_directory(), prefix="building-") as place:
                _build(compiler, language, source=os.path.join(directory, SOURCE), path=path, place=place)
        except OSError as error:
            name = error.filename or cache_directory()
            hint = "set VT_SHIM_CACHE to a writable directory"
            raise VtraceError(f"{name}: cannot keep the plug-in for gcc: {error.strerror}", hint) from None
    return path


def _build(compiler: list[str], language: str, source: str, path: str, *, place: str) -> None:
    """Builds in a directory of its own, and lets gcc load the result before any other command can find it."""
    version = answer([*compiler, "-dumpversion"]).strip()
    print(f"vtrace: building the plug-in for gcc {version}, once per compiler", file=sys.stderr)
    made = os.path.join(place, "plugin.so")
    flags = ["-O1", "-fno-rtti", "-fPIC", "-shared", "-w", f"-I{_headers(compiler)}"]
    empty = os.path.join(place, "empty")
    with open(empty, "w"):
        pass
    for words in (
        [_cxx(), *flags, source, "-o", made],
        [*compiler, f"-fplugin={made}", "-x", _LANGUAGES[language], "-S", "-o", os.path.join(place, "empty.s"), empty],
    ):
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            kept = os.path.join(place, "failed")
            with open(kept, "wb") as file:
                file.write(" ".join(words).encode() + b"\n" + done.stdout)
            os.replace(kept, _failed(path))
            hint = "functions are recorded as they are before inlining"
            raise VtraceError(f"the plug-in for {compiler[0]} cannot be built: {_failed(path)} says why", hint)
    os.chmod(made, 0o755)
    os.replace(made, path)


def _path(compiler: list[str], directory: str) -> str:
    """The place of the plug-in for this compiler, these headers and this source."""
    named = answer([*compiler, "--version"])
    known = hashlib.sha256(named.partition("(")[2].encode())  # gcc, g++ and gfortran differ only before the parenthesis
    for path in (os.path.join(directory, SOURCE), os.path.join(_headers(compiler), "plugin-version.h")):
        with open(path, "rb") as file:
            known.update(file.read())
    return os.path.join(cache_directory(), f"gcc_plugin_{known.hexdigest()[:16]}.so")


def _failed(path: str) -> str:
    return f"{path}.failed"


def _headers(compiler: list[str]) -> str:
    return os.path.join(answer([*compiler, "-print-file-name=plugin"]).strip(), "include")


def _cxx() -> str:
    return next((name for name in _CXX if shutil.which(name)), "")
