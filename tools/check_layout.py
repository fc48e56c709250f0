#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the layout of the project: imports between folders, sizes of files and functions, first lines of files.

    tools/check_layout.py            prints a line for each fault; exit code 1 if there are faults
    tools/check_layout.py DIR        checks another copy of the project

docs/architecture.md describes the layers.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

BASE = {"", "errors", "console", "left_out", "light_numpy", "reasons", "settings", "settings_file", "paths",
        "python_command", "text"}  # fmt: skip
"""Modules that every folder may use; "" is the package itself, for its version."""

PYTHON_LAYERS: dict[str, set[str]] = {
    "errors": set(),
    "paths": set(),
    "text": set(),
    "left_out": set(),
    "light_numpy": set(),
    "reasons": set(),
    "settings": set(),
    "settings_file": set(),
    "console": set(),
    "python_command": set(),
    "python_functions": set(),
    "python_hook": set(),
    "user": {"python_functions"},
    "io.common": set(),
    "io.local": {"io.common"},
    "io.archive": {"io.common", "io.local"},
    "io.sidecar": {"io.common", "io.local", "io.archive"},
    "io": set(),
    "parallel": set(),
    "symbols": {"io.archive", "io.common", "io.local"},
    "unify.model": {"io.common", "io.local", "io.archive", "parallel", "symbols"},
    "unify.discover": {"io.common", "io.local", "parallel", "unify.model"},
    "unify.reading": {"parallel", "unify.model"},
    "unify.clocks": {"io.local", "io.archive", "parallel", "unify.model"},
    "unify.merge": {"io.common", "io.local", "io.archive", "parallel", "symbols", "unify.model"},
    "unify.writing": {"io.common", "io.local", "io.archive", "parallel", "unify.model"},
    "unify.account": {"io.sidecar", "io.local", "io.archive", "unify.model", "unify.reading", "unify.clocks",
                      "unify.merge", "unify.writing"},
    "unify": {"io.sidecar", "io.local", "io.archive", "parallel", "unify.model", "unify.discover", "unify.reading",
              "unify.clocks", "unify.merge", "unify.writing", "unify.account"},
    "analysis": {"io.sidecar", "io.archive", "io.common", "parallel"},
    "analysis.derived": set(),
    "analysis.questions": {"io.archive", "io.common", "analysis"},
    "analysis.findings": {"io.sidecar", "io.archive", "io.common", "analysis", "analysis.questions"},
    "analysis.trace": {"io.archive", "analysis", "analysis.questions", "analysis.findings"},
    "reports": {"io.archive", "io.common", "analysis", "analysis.derived", "analysis.questions", "analysis.findings",
                "analysis.trace"},
    "export": {"io.archive", "io.common", "analysis", "analysis.questions", "analysis.trace"},
    "compat": {"io.archive", "analysis", "analysis.derived", "analysis.questions"},
    "timeline": {"io.sidecar", "io.archive", "io.common", "analysis", "analysis.questions", "analysis.trace"},
    "transform": {"io.sidecar", "io.archive", "io.common", "io.local", "analysis", "analysis.trace"},
    "wrappers.compile": set(),
    "wrappers.mpi_shim": {"wrappers.compile"},
    "wrappers.launch": {"analysis.derived", "wrappers.compile", "wrappers.mpi_shim"},
    "wrappers": {"wrappers.compile", "wrappers.mpi_shim"},
    "commands": {"io.common", "io.local", "io.archive", "parallel", "symbols", "unify", "unify.model", "unify.discover",
                 "analysis", "analysis.derived", "analysis.questions", "analysis.findings", "analysis.trace", "reports",
                 "export", "compat", "transform",
                 "timeline", "wrappers.compile", "wrappers.mpi_shim", "wrappers.launch"},
    "cli": {"commands"},
    "main": {"cli", "wrappers.launch"},
    "entry": set(),
    "__main__": {"entry"},
}  # fmt: skip
"""Folder or module of src/vtrace -> folders and modules that it may import besides BASE, lowest layers first."""

ENTRIES = {
    "unify.discover": {"discover", "list_files", "leftovers"},
    "unify.reading": {"reading"},
    "unify.clocks": {"clocks", "repair"},
    "unify.merge": {"merge"},
    "unify.writing": {"writing", "output", "expected"},
    "unify.account": {"account"},
}
"""Phase of unifying -> its modules that other folders may import."""

SHARED_HEADERS = {"core.h", "format.h", "msgpack.h", "sys.h"}
_SHIM = {"write.h"} | SHARED_HEADERS
C_LAYERS = {
    "core": set(),
    "otf2_writer": {"format.h", "readback.h"},
    "otf2_reader": {"otf2.h", "schema.h"},
    "otf2_rewriter": {"definitions.h", "pair_table.h", "readback.h", "schema.h"},
    "kernels": {"stack_replay.h", "schema.h", "channels.h", "pair_table.h"},
    "userwrap": {"vt_user.h"},
    "sampling": SHARED_HEADERS | {"perf_events.h"},
    "fapp": {"fortran_names.h"},
    "fipp": set(),
    "tracer": set(),
    "iowrap": _SHIM,
    "memwrap": _SHIM,
    "ompwrap": _SHIM,
}
"""Folder of csrc -> headers of other folders that it may include; SHARED_HEADERS for folders not listed. Folders of
RUNTIME may include all headers of core."""

CORE_LAYERS = [
    {"sys", "lock", "memory", "text", "state", "settings_table", "safe_files", "call", "settings_file"},
    {"settings", "setting_texts", "clock", "file_locations", "lineage", "launcher", "prefix_claim"},
    {"buffer", "columns", "codec"},
    {"location", "define", "file", "replay", "ring", "sample_stream", "stop"},
    {"slow_path", "switch", "recording_window", "rewind", "module", "filter", "function_patterns", "region_groups",
     "limits", "counter_groups", "thread_time"},
    {"process", "thread", "end", "signal", "vfork", "record", "polls", "frames", "regions"},
]  # fmt: skip
"""The files of csrc/core (.c and .h) by layers, lowest first. A file may include and use its own layer and lower ones.
The other folders of RUNTIME are above all layers."""

CORE_INTERFACE = {"core.h", "format.h", "msgpack.h", "write.h"}
"""Headers of csrc/core that shims may include, too: each layer implements a part of them."""

RUNTIME = {"core", "funwrap", "userwrap", "threadwrap", "procwrap", "sampling", "providers"}
"""Folders of libvtrace.so.1, which must not depend on libraries that a machine may lack."""

LARGEST = {".py": 500}
"""Suffix -> maximum number of lines of a file; 700 for other suffixes."""

_MARKS = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
_MACHINE = re.compile(r"/(?:ro" r"ot|wo" r"rk/main|wo" r"rk/shared|tmp/[a-z]+)/")


class Layout:
    """The files of one copy of the project."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.package = root / "src" / "vtrace"
        self.csrc = root / "csrc"
        self.python = self._files("*.py")
        self.c = self._files("*.c", "*.h", "*.cc", "*.cpp", "*.map", "*.inc")
        self.build = [root / name for name in ("pyproject.toml", "CMakeLists.txt", "Makefile", ".ci/run")]
        self._folders: dict[str, str] = {}

    def _files(self, *patterns: str) -> list[Path]:
        folders = [self.package, self.csrc, *(self.root / name for name in ("tests", "bench", "examples", "tools"))]
        found = [path for folder in folders for pattern in patterns for path in folder.rglob(pattern)]
        return sorted(path for path in found if "_lib" not in path.parts and "__pycache__" not in path.parts)

    def faults(self) -> Iterator[str]:
        """A line for each fault, with the file's name in front."""
        for path in self.python:
            module = _module(path.read_text())
            found = [*module.long_functions]
            if self.package in path.parents:
                found += self._imports(path, module)
            yield from self._named(path, found)
        for path in self.c:
            if self.csrc in path.parents:
                yield from self._named(path, self._includes(path))
            if path.suffix == ".c":
                yield from self._named(path, _long_c_functions(path.read_text()))
        yield from self._core()
        yield from self._page()
        for path in [*self.python, *self.c, *self.build]:
            yield from self._named(path, _form(path.name, path.suffix, path.read_text()))
        yield from self._twice()

    def _twice(self) -> Iterator[str]:
        """Names that two files have or define, with the first file in each message."""
        seen: dict[tuple[str, str], tuple[Path, str]] = {}
        for path, line, kind, what, name in self._names():
            other, how = seen.setdefault((kind, name.removeprefix("vt_").lstrip("_")), (path, what))
            if other == path or (not line and other.parent == path.parent):  # text.c and text.h are a pair
                continue
            where = other.relative_to(self.root)
            fault = f"line {line}: {where} has {how} {name}, too" if line else f"{where} has the same name"
            yield f"{path.relative_to(self.root)}: {fault}"

    def _names(self) -> Iterator[tuple[Path, int, str, str, str]]:
        """File, line (0: the file's own name), kind and description of each name. Names of one kind must differ.

        Two kinds of files need no name of their own: the module that has a command, which may be called like the module
        whose results the command shows, and a template of the MPI shim, which may be called like the C file whose
        functions it calls.
        """
        tables = (self.package / "cli.py", self.package / "commands" / "compat.py")
        commands = {name for path in tables for name in re.findall(r"vtrace\.commands\.(\w+)", path.read_text())}
        for folder in (self.package, self.root / "tests" / "support"):
            for path in (path for path in self.python if folder in path.parents):
                if path.name != "__init__.py" and not (path.parent.name == "commands" and path.stem in commands):
                    yield path, 0, f"module of {folder.name}", "", path.name
                for line, what, name in _module(path.read_text()).types:
                    yield path, line, f"type of {folder.name}", what, name
        for path in (path for path in self.c if self.csrc in path.parents and path.suffix in (".c", ".h")):
            if "templates" not in path.parts:
                yield path, 0, "C file", "", path.stem
            for line, what, name in _c_types(path.read_text()):
                yield path, line, "C type", what, name

    def _named(self, path: Path, found: Iterator[str] | list[str]) -> Iterator[str]:
        return (f"{path.relative_to(self.root)}: {fault}" for fault in found)

    def _folder(self, name: str) -> str:
        if name not in self._folders:
            self._folders[name] = self._folder_of(name)
        return self._folders[name]

    def _folder_of(self, name: str) -> str:
        """The folder of a module or of a name in a module: io.local for io.local.heads. A module beside the folders, or
        with a layer of its own, is its own folder. name: without "vtrace."."""
        words = name.split(".")
        folders = 0
        while folders < len(words) and (self.package / Path(*words[: folders + 1])).is_dir():
            folders += 1
        if ".".join(words[: folders + 1]) in PYTHON_LAYERS:
            return ".".join(words[: folders + 1])
        if folders:
            return ".".join(words[:folders])
        return words[0] if (self.package / f"{words[0]}.py").is_file() else ""

    def _imports(self, path: Path, module: _Module) -> Iterator[str]:
        inside = path.relative_to(self.package).with_suffix("")
        own = self._folder(".".join(inside.parts[:-1] if inside.name == "__init__" else inside.parts))
        if not own:
            return
        if own not in PYTHON_LAYERS:
            yield f"{own} has no layer in tools/check_layout.py"
            return
        for node in module.imports:
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                if node.level:
                    yield f"line {node.lineno}: a relative import"
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            for name in names:
                top, _, rest = name.partition(".")
                used = self._folder(rest) if top == "vtrace" else ""
                if used not in BASE | {own} | PYTHON_LAYERS[own]:
                    yield f"line {node.lineno}: {own} must not use {used}"
                inner = rest.removeprefix(f"{used}.").partition(".")[0]
                if used != own and used in ENTRIES and inner not in ENTRIES[used]:
                    yield f"line {node.lineno}: {own} must not use {used}.{inner}, which is inside of a phase"
                if top == "mpi4py" and own != "parallel":
                    yield f"line {node.lineno}: only parallel knows mpi4py"

    def _includes(self, path: Path) -> Iterator[str]:
        folder = path.relative_to(self.csrc).parts[0]
        allowed = C_LAYERS.get(folder, SHARED_HEADERS)
        text = path.read_text()
        for include in _INCLUDE.findall(text):
            # templates find headers in the folder above; the MPI shim has the headers of core in its own
            places = [place / include for place in (path.parent, self.csrc / folder, self.csrc, self.csrc / "core")]
            found = next((place.resolve() for place in places if place.exists()), None)
            owner = found.relative_to(self.csrc.resolve()).parts[0] if found else ""
            is_own = owner == folder or (owner == "core" and folder in RUNTIME)
            if not is_own and Path(include).name not in allowed:
                yield f"{folder} must not include {include}"
        if folder in RUNTIME and re.search(r"#\s*include\s*<(mpi|otf2|zstd|Python)", text):
            yield "the runtime must not need this library's headers"

    def _core(self) -> Iterator[str]:
        """Includes of csrc/core, and uses of functions and variables, that lead to a higher layer."""
        layers = {name: number for number, names in enumerate(CORE_LAYERS) for name in names}
        folders = [self.csrc / name for name in RUNTIME]
        files = [path for path in self.c if path.suffix in (".c", ".h") and path.parent in folders]
        texts = {path: _without_comments(path.read_text()) for path in files}

        def layer(path: Path) -> int:
            return layers.get(path.stem, -1) if path.parent.name == "core" else len(CORE_LAYERS)

        where = {name: path for path in files if path.suffix == ".c" for name in _C_DEFINITION.findall(texts[path])}
        for path in files:
            if path.parent.name != "core" or path.name in CORE_INTERFACE:
                continue
            if path.stem not in layers:
                yield f"{path.relative_to(self.root)}: {path.stem} has no layer in tools/check_layout.py"
                continue
            for include in _INCLUDE.findall(path.read_text()):
                used = path.parent / include
                if used.name not in CORE_INTERFACE and layer(used) > layer(path):
                    yield f"{path.relative_to(self.root)}: must not include {include}, which is of a higher layer"
            for name in sorted({*re.findall(r"\bvt_\w+", texts[path])} & {*where}):
                if layer(where[name]) > layer(path):
                    yield f"{path.relative_to(self.root)}: must not use {name} of {where[name].name}, a higher layer"

    def _page(self) -> Iterator[str]:
        """Differences between docs/architecture.md and the tables of this file."""
        page = self.root / "docs" / "architecture.md"
        text = page.read_text()
        layers = text.partition("## Layers of csrc/core")[2].partition("\n## ")[0]
        told = [{*re.findall(r"`(\w+)`", line.split("|")[2])} for line in layers.splitlines() if line.startswith("| ")]
        if told[:0:-1] != CORE_LAYERS:  # the first line is the head of the table
            yield from self._named(page, ["the table of the layers of csrc/core differs from CORE_LAYERS"])
        folders = [*self.csrc.iterdir(), *(path.parent for path in self.package.glob("*/__init__.py"))]
        table = text.partition("## Folders")[2].partition("\n## ")[0]
        known = {*re.findall(r"`((?:csrc|src/vtrace)/\w+)`", table)}
        names = {str(path.relative_to(self.root)) for path in folders if path.is_dir()}
        yield from self._named(page, [f"the table of folders lacks {name}" for name in sorted(names - known)])


_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
_C_DEFINITION = re.compile(
    r"^(?!static\b|extern\b|typedef\b|#)\w[^;{}=]*?\b(vt_\w+)\s*(?:\([^;{}]*\)\s*\{|\[[^;]*\]\s*[;=]|[;=])",
    re.MULTILINE,
)
"""The name of a function or variable that a C file defines for others."""


@cache
def _without_comments(text: str) -> str:
    """text without comments and strings, with the same number of lines."""
    return re.sub(
        r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', lambda found: " " + "\n" * found[0].count("\n"), text, flags=re.DOTALL
    )


_TYPE_NAME = re.compile(r"_*[A-Z](?:[A-Z0-9]*[a-z]\w*)?")
"""The name of a class, a type alias or a type variable. Other names in capitals are constants."""
_C_TAG = re.compile(r"\b(struct|union|enum)\s+(\w+)\s*\{")
_C_TYPEDEF = re.compile(r"\btypedef\b((?:[^;{}]|\{[^{}]*\})*);")
_C_TYPEDEF_NAME = re.compile(r"(\w+)\s*\((?!\s*\*)|\(\s*\*\s*(\w+)|(\w+)\s*(?:\[.*)?$", re.DOTALL)
"""In a typedef without braces: the name of a function, of a pointer to a function, or of any other type."""


def _types(body: list[ast.stmt]) -> Iterator[tuple[int, str, str]]:
    """Line, description and name of each class, type alias and type variable of a module."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield node.lineno, "a class", node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            is_variable = isinstance(node.value, ast.Call) and getattr(node.value.func, "id", "") == "TypeVar"
            yield from ((node.lineno, "a type", name) for name in names if is_variable or _TYPE_NAME.fullmatch(name))
        elif isinstance(node, ast.If | ast.Try):
            yield from _types([*node.body, *node.orelse])


@cache
def _c_types(text: str) -> list[tuple[int, str, str]]:
    """Line, description and name of each structure, union, enumeration and typedef that a C file defines."""
    text = _without_comments(text)
    types = []
    for found in _C_TAG.finditer(text):
        article = "an" if found[1] == "enum" else "a"
        types.append((text.count("\n", 0, found.start()) + 1, f"{article} {found[1]}", found[2]))
    for found in _C_TYPEDEF.finditer(text):
        if name := _C_TYPEDEF_NAME.search(re.sub(r"\{[^{}]*\}", " ", found[1])):
            types.append((text.count("\n", 0, found.end()) + 1, "a typedef", name[1] or name[2] or name[3]))
    return types


@cache
def _form(name: str, suffix: str, text: str) -> list[str]:
    return [*_form_faults(name, suffix, text)]


def _form_faults(name: str, suffix: str, text: str) -> Iterator[str]:
    lines = text.splitlines()
    head = lines[:2] if lines and lines[0].startswith("#!") else lines[:1]
    if lines and "SPDX-License-Identifier: BSD-3-Clause" not in head[-1]:
        yield "the first line must name the licence"
    if not text.endswith("\n"):
        yield "the last line must end with a newline"
    if re.search(r"[ \t]$", text, re.MULTILINE):
        yield "spaces at the end of a line"
    if "\t" in text and name != "Makefile":
        yield "a tab"
    most = LARGEST.get(suffix, 700)
    if len(lines) > most:
        yield f"{len(lines)} lines, at most {most}"
    if _MARKS.search(text):
        yield "a mark for unfinished work"
    if _MACHINE.search(text):
        yield "a path of one machine"


def _long_functions(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            if length > 60:
                yield f"line {node.lineno}: {node.name} has {length} lines, at most 60"


@dataclass(frozen=True)
class _Module:
    """The facts about a Python file. long_functions: faults; types: line, description and name of each type."""

    imports: list[ast.Import | ast.ImportFrom]
    types: list[tuple[int, str, str]]
    long_functions: list[str]


@cache
def _module(text: str) -> _Module:
    tree = ast.parse(text)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    return _Module(imports, [*_types(tree.body)], [*_long_functions(tree)])


def _long_c_functions(text: str) -> Iterator[str]:
    """Functions that are too long; a body is between { and } in the first column."""
    begin = 0
    for number, line in enumerate(text.splitlines(), 1):
        if line == "{":
            begin = number
        elif line == "}" and begin:
            if number - begin - 1 > 60:
                yield f"line {begin}: a function of {number - begin - 1} lines, at most 60"
            begin = 0


def main(arguments: list[str]) -> int:
    """Prints all faults; returns the exit code."""
    layout = Layout(Path(arguments[0]).resolve() if arguments else Path(__file__).resolve().parents[1])
    if not layout.python or not layout.c:
        print(f"{layout.root}: no sources of vtrace", file=sys.stderr)
        return 2
    faults = [*layout.faults()]
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
