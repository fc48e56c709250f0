#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks what no linter knows: the includes between folders of csrc and layers of csrc/core, and the form of all files.

    tools/check_layout.py            prints a line for each fault; exit code 1 if there are faults
    tools/check_layout.py DIR        checks another copy of the project

import-linter checks the imports between the packages of src/vtrace (pyproject.toml).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

SHARED_HEADERS = {"core.h", "format.h", "sys.h"}
_SHIM = {"write.h"} | SHARED_HEADERS
C_LAYERS = {
    "core": set(),
    "otf2_writer": {"format.h", "readback.h"},
    "otf2_reader": {"containers.h", "otf2.h", "schema.h"},
    "otf2_rewriter": {"definitions.h", "containers.h", "readback.h", "schema.h"},
    "kernels": {"stack_replay.h", "schema.h", "containers.h"},
    "userwrap": {"vt_user.h"},
    "annotations": {"vt_user.h"} | SHARED_HEADERS,
    "sampling": SHARED_HEADERS | {"perf_events.h"},
    "fapp": {"fortran_names.h"},
    "fipp": set(),
    "tracer": set(),
    "iowrap": _SHIM,
    "hdf5wrap": _SHIM,
    "memwrap": _SHIM,
    "ompwrap": _SHIM,
    "openclwrap": {"devices.h"} | SHARED_HEADERS,
    "cudawrap": {"devices.h"} | SHARED_HEADERS,
}
"""Folder of csrc -> headers of other folders that it may include; SHARED_HEADERS for folders not listed. Folders of
RUNTIME may include all headers of core."""

CORE_LAYERS = [
    {"system", "sys", "text", "state", "settings_table", "safe_files", "settings_file"},
    {"settings", "setting_texts", "clock", "file_locations", "lineage", "launcher", "prefix_claim"},
    {"buffer", "columns", "codec"},
    {"location", "define", "file", "replay", "ring", "sample_stream", "stop", "profile",
     "profile_fold", "budget", "keep", "node", "trigger", "overhead", "call_counts", "left_out_memory",
     "left_out_python", "thin", "thin_teams"},
    {"recording", "slow_path", "switch", "recording_window", "rewind", "module", "filter", "function_patterns",
     "region_groups", "limits", "counter_groups", "thread_time"},
    {"process", "thread", "end", "signal", "vfork", "record", "polls", "frames", "regions", "call_sites", "long_calls"},
]  # fmt: skip
"""The files of csrc/core (.c and .h) by layers, lowest first. A file may include headers of its own layer and of lower
ones. The other folders of RUNTIME are above all layers."""

CORE_INTERFACE = {"core.h", "format.h", "write.h"}
"""Headers of csrc/core that shims may include, too: each layer implements a part of them."""

RUNTIME = {"core", "funwrap", "userwrap", "threadwrap", "procwrap", "sampling", "providers"}
"""Folders of libvtrace.so.1, which must not depend on libraries that a machine may lack."""

MOST_LINES = 60
"""Of a function."""

_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
_MARKS = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X)\b")
_MACHINE = re.compile(r"/(?:ro" r"ot|wo" r"rk/main|wo" r"rk/shared|tmp/[a-z]+)/")


def faults(root: Path) -> Iterator[str]:
    """A line for each fault, with the file's name in front."""
    sources = [root / name for name in ("src/vtrace", "csrc", "tests", "bench", "examples", "tools")]
    kinds = {".py", ".c", ".h", ".cc", ".cpp", ".map", ".inc"}
    files = [path for folder in sources for path in sorted(folder.rglob("*")) if path.suffix in kinds]
    for path in [*files, *(root / name for name in ("pyproject.toml", "CMakeLists.txt", "Makefile", ".ci/run"))]:
        if {"_lib", "__pycache__"} & {*path.parts}:
            continue
        text = path.read_text()
        found = [*_form(text, has_tabs=path.name == "Makefile")]
        if path.suffix == ".c":
            found += _long_functions(text)
        if root / "csrc" in path.parents:
            found += _includes(root / "csrc", path, text)
        yield from (f"{path.relative_to(root)}: {fault}" for fault in found)


def _form(text: str, *, has_tabs: bool) -> Iterator[str]:
    lines = text.splitlines()
    head = lines[:2] if lines and lines[0].startswith("#!") else lines[:1]
    if lines and "SPDX-License-Identifier: BSD-3-Clause" not in head[-1]:
        yield "the first line must name the licence"
    if not text.endswith("\n"):
        yield "the last line must end with a newline"
    if re.search(r"[ \t]$", text, re.MULTILINE):
        yield "spaces at the end of a line"
    if "\t" in text and not has_tabs:
        yield "a tab"
    if _MARKS.search(text):
        yield "a mark for unfinished work"
    if _MACHINE.search(text):
        yield "a path of one machine"


def _long_functions(text: str) -> Iterator[str]:
    """C functions that are too long; a body is between { and } in the first column. ruff checks those of Python."""
    begin = 0
    for number, line in enumerate(text.splitlines(), 1):
        if line == "{":
            begin = number
        elif line == "}" and begin:
            if number - begin - 1 > MOST_LINES:
                yield f"line {begin}: a function of {number - begin - 1} lines, at most {MOST_LINES}"
            begin = 0


def _includes(csrc: Path, path: Path, text: str) -> Iterator[str]:
    folder = path.relative_to(csrc).parts[0]
    allowed = C_LAYERS.get(folder, SHARED_HEADERS)
    for include in _INCLUDE.findall(text):
        # templates find headers in the folder above; the MPI shim has the headers of core in its own
        places = [place / include for place in (path.parent, csrc / folder, csrc, csrc / "core")]
        found = next((place.resolve() for place in places if place.exists()), None)
        owner = found.relative_to(csrc.resolve()).parts[0] if found else ""
        is_own = owner == folder or (owner == "core" and folder in RUNTIME)
        name = Path(include).name
        if not is_own and name not in allowed:
            yield f"{folder} must not include {include}"
        inside = folder == owner == "core" and not {path.name, name} & CORE_INTERFACE
        if inside and _layer(name) > _layer(path.name):
            yield f"must not include {include}, which is of a higher layer"
    if folder == "core" and path.suffix != ".map" and path.name not in CORE_INTERFACE and _layer(path.name) < 0:
        yield f"{path.stem} has no layer in tools/check_layout.py"
    if folder in RUNTIME and re.search(r"#\s*include\s*<(mpi|otf2|zstd|Python)", text):
        yield "the runtime must not need this library's headers"


def _layer(name: str) -> int:
    """The layer of a file of csrc/core; -1: none."""
    return next((place for place, names in enumerate(CORE_LAYERS) if Path(name).stem in names), -1)


def main(arguments: list[str]) -> int:
    root = Path(arguments[0] if arguments else __file__).resolve()
    root = root if arguments else root.parents[1]
    if not (root / "src" / "vtrace").is_dir():
        print(f"{root}: no sources of vtrace", file=sys.stderr)
        return 2
    found = [*faults(root)]
    print("\n".join(found), end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
