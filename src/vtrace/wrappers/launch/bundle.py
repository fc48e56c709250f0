# SPDX-License-Identifier: BSD-3-Clause
"""Writes a bundle (`vtrace run --bundle`): a directory with the libraries to preload and a shell script that starts a
program with them, for places without vtrace and Python, such as containers."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from vtrace.errors import UsageError, VtraceError
from vtrace.wrappers.launch import preload, start
from vtrace.wrappers.launch.choices import Choices
from vtrace.wrappers.launch.preload import Plan

SCRIPT = "vtrace-run"
_LIBRARIES = "lib"
_ZSTD = "libvtrace-zstd.so"
"""The name of the copy of libzstd.so.1, which the runtime loads if the system has none (csrc/core/codec.c). Under its
own name the copy would precede the system's in LD_LIBRARY_PATH."""
_MARK = "# Written by vtrace run --bundle."
_TEMPLATE = Path(__file__).with_name("bundle.sh")
_LEFT_OUT = ("LD_PRELOAD", "PYTHONPATH", "ASAN_OPTIONS")
"""Variables that a plan changes and that are not settings."""


def write(chosen: Choices, environ: Mapping[str, str], directory: Path) -> None:
    """Writes the bundle for chosen's program, or for any program if chosen has none. Replaces a bundle, and nothing
    else. Raises VtraceError."""
    _check(chosen, directory)
    made = _plan(chosen, environ)
    changes = made.shown | made.changes
    ours = changes.get("LD_PRELOAD", "").split(":")
    if ours == [""]:
        raise VtraceError("; ".join(made.warnings) or f"{chosen.words[0]}: the loader finds no libraries")
    start.report(made, chosen, environ)
    settings = {name: value for name, value in changes.items() if name not in _LEFT_OUT}
    if chosen.prefix:
        preload.check_prefix(chosen.prefix)
        settings["VT_FILE_PREFIX"] = chosen.prefix
    try:
        _write(ours, settings, changes.get("ASAN_OPTIONS", ""), directory)
    except FileExistsError as error:
        raise VtraceError(
            f"cannot write the bundle {directory}: {error.filename} is not a directory", "choose another directory"
        ) from None
    except OSError as error:
        place = error.filename2 or error.filename or directory  # of a copy, filename2 is the new file
        raise VtraceError(
            f"cannot write the bundle {directory}: {place}: {error.strerror}", "choose another directory"
        ) from None


def _check(chosen: Choices, directory: Path) -> None:
    starting = {"--view": chosen.view, "--force": chosen.force, "--unify": chosen.switches["unify"]}
    for option in (option for option, given in starting.items() if given):
        raise UsageError(f"--bundle starts no program, so {option} has no effect", f"leave out {option}")
    if chosen.switches["python"]:
        raise UsageError("--bundle and --python: a bundle has no Python", "install vtrace in the container")
    if os.path.lexists(directory) and not _is_bundle(directory):
        raise VtraceError(f"{directory} exists and is not a bundle", "choose another directory")


def _is_bundle(directory: Path) -> bool:
    """True for a directory with the entries of a bundle and no others."""
    try:
        names = {entry.name for entry in directory.iterdir()}
        head = (directory / SCRIPT).read_text(errors="replace")[:400]
    except OSError:
        return False
    return names == {SCRIPT, _LIBRARIES} and _MARK in head and not directory.is_symlink()


def _plan(chosen: Choices, environ: Mapping[str, str]) -> Plan:
    """The plan without the parts for this machine: the user's LD_PRELOAD, and the directory of the local files."""
    own = chosen.of_program(chosen.words)
    own.prefix, own.unify = None, False
    here = {name: value for name, value in environ.items() if name not in _LEFT_OUT}
    return start.plan(own, here) if own.words else preload.plan_for_any(own, here)


def _script(ours: list[str], sizes: Mapping[str, int], settings: Mapping[str, str], asan: str) -> str:
    """The script: the template with the names of the libraries to preload, the sizes of all libraries, and the
    settings."""
    lines = [f"export {name}={shlex.quote(value)}" for name, value in sorted(settings.items())]
    if asan:
        lines.append(f'export ASAN_OPTIONS="${{ASAN_OPTIONS:+$ASAN_OPTIONS:}}{asan}"')
    text = _TEMPLATE.read_text().replace("@MARK@", _MARK)
    text = text.replace("@LIBRARIES@", " ".join(os.path.basename(path) for path in ours))
    text = text.replace("@SIZES@", " ".join(f"{name}={size}" for name, size in sizes.items()))
    return text.replace("@SETTINGS@", "\n".join(lines))


def _write(ours: list[str], settings: Mapping[str, str], asan: str, directory: Path) -> None:
    sources = {os.path.basename(path): path for path in ours}
    zstd = _system_zstd()
    if zstd:
        sources[_ZSTD] = zstd
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.absolute().parent, prefix=f".{directory.name}.") as temporary:
        made = Path(temporary, "new")
        libraries = made / _LIBRARIES
        libraries.mkdir(parents=True)
        for name, path in sources.items():
            shutil.copyfile(path, libraries / name)
        sizes = {name: (libraries / name).stat().st_size for name in sources}
        (made / SCRIPT).write_text(_script(ours, sizes, settings, asan))
        (made / SCRIPT).chmod(made.stat().st_mode & 0o777)
        if os.path.lexists(directory):
            if not _is_bundle(directory):  # another process has made it meanwhile
                raise VtraceError(f"{directory} exists and is not a bundle", "choose another directory")
            directory.rename(Path(temporary, "old"))
        made.rename(directory)


def _system_zstd() -> str | None:
    """The path of the libzstd.so.1 that the loader finds; None without any."""
    import ctypes

    try:
        ctypes.CDLL("libzstd.so.1")
    except OSError:
        return None
    with open("/proc/self/maps", errors="surrogateescape") as maps:
        paths = (line.rstrip("\n").partition("/")[2] for line in maps)
        return next((f"/{path}" for path in paths if os.path.basename(path).startswith("libzstd.so.1")), None)
