# SPDX-License-Identifier: BSD-3-Clause
"""The rules of the house: who may depend on whom, how large files may be, what stands in each."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "vtrace"
CSRC = ROOT / "csrc"

BASE = {"", "errors", "console", "left_out", "python_command", "settings", "paths", "text"}
"""Modules that every other may use; "" is the package itself, for its version."""

MAY_USE = {
    "errors": set(),
    "paths": set(),
    "text": set(),
    "python_command": set(),
    "python_functions": set(),
    "python_hook": set(),
    "user": BASE | {"python_functions"},
    "console": BASE,
    "settings": BASE,
    "left_out": set(),
    "io": BASE | {"io"},
    "wrappers": BASE | {"wrappers"},
    "unify": BASE | {"unify", "io", "parallel", "symbols"},
    "parallel": BASE | {"parallel"},
    "symbols": BASE | {"symbols", "io", "unify"},
    "analysis": BASE | {"analysis", "io"},
    "reports": BASE | {"reports", "analysis", "io"},
    "export": BASE | {"export", "analysis", "io"},
    "compat": BASE | {"compat", "analysis", "io"},
    "timeline": BASE | {"timeline"},
    "commands": BASE | {"commands", "wrappers", "unify", "parallel", "symbols", "analysis", "reports", "export", "compat", "timeline", "io"},
    "cli": BASE | {"commands"},
    "main": BASE | {"cli", "wrappers"},
}
SHARED_HEADERS = {"core.h", "format.h", "msgpack.h", "sys.h"}


def _files(*patterns: str) -> list[Path]:
    folders = [PACKAGE, CSRC, ROOT / "tests", ROOT / "bench", ROOT / "examples"]
    found = [path for folder in folders for pattern in patterns for path in folder.rglob(pattern)]
    return sorted(path for path in found if "_lib" not in path.parts and "__pycache__" not in path.parts)


PYTHON = _files("*.py")
C_FILES = _files("*.c", "*.h", "*.cc", "*.cpp", "*.map", "*.inc")
BUILD_FILES = [ROOT / name for name in ("pyproject.toml", "CMakeLists.txt", "Makefile", ".ci/run")]


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _module(path: Path) -> str:
    """The part of the package that a file belongs to: vtrace/io/local/local_files.py -> io."""
    first = path.relative_to(PACKAGE).parts[0]
    return "" if first == "__init__.py" else first.removesuffix(".py")


def _imports(path: Path) -> set[str]:
    """Full names of all that a Python file imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{_name(path)}: relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def _used_parts(path: Path) -> set[str]:
    parts: set[str] = set()
    for name in _imports(path):
        words = name.split(".")
        if words[0] == "vtrace":
            second = words[1] if len(words) > 1 else ""
            is_module = (PACKAGE / second).is_dir() or (PACKAGE / f"{second}.py").is_file()
            parts.add(second if is_module else "")
    return parts


def _quoted_includes(path: Path) -> list[str]:
    return re.findall(r'^\s*#\s*include\s*"([^"]+)"', path.read_text(), re.MULTILINE)


def test_the_rules_find_their_files() -> None:
    """A rule over no files holds always: all parts of the house must be among what is checked."""
    assert {_module(path) for path in PYTHON if PACKAGE in path.parents} >= {
        "",
        "errors",
        "io",
        "wrappers",
        "reports",
        "commands",
    }
    assert {path.parent.name for path in C_FILES} >= {"core", "mpiwrap", "transcode", "readback", "heat2d"}


@pytest.mark.parametrize("path", [path for path in PYTHON if PACKAGE in path.parents], ids=_name)
def test_python_dependences(path: Path) -> None:
    part = _module(path)
    if part:
        assert part in MAY_USE, f"{part} is not a part of the house"
        assert _used_parts(path) <= MAY_USE[part], f"{_name(path)} depends on what it must not"
    imports = _imports(path)
    if part in ("analysis", "reports", "export", "compat"):
        assert not any(name.startswith(("vtrace.io.local.local_files", "vtrace.io.local.records")) for name in imports)
    if part != "parallel":
        assert not any(name.split(".")[0] == "mpi4py" for name in imports), "mpi4py where ranks share no work"


@pytest.mark.parametrize("path", [path for path in C_FILES if CSRC in path.parents], ids=_name)
def test_c_dependences(path: Path) -> None:
    folder = path.relative_to(CSRC).parts[0]
    own = {header.name for header in (CSRC / folder).rglob("*.h")}
    # Parts of libvtrace.so.1, which inline the core's recording.
    parts = {"core": own, "transcode": {"format.h"} | own, "readback": {"otf2.h"} | own, "funwrap": {"record.h"}}
    parts["userwrap"] = {"record.h", "vt_user.h"} | own
    for shim in ("iowrap", "memwrap", "ompwrap"):  # of the runtime's version; MPI's is in executables
        parts[shim] = {"write.h"} | own | SHARED_HEADERS
    parts["threadwrap"] = parts["procwrap"] = {"call.h"} | own
    allowed = parts.get(folder, own | SHARED_HEADERS)
    for include in _quoted_includes(path):
        assert Path(include).name in allowed, f"{_name(path)} includes {include}"
    if folder in ("core", "funwrap", "userwrap", "threadwrap", "procwrap"):
        assert not re.search(r"#\s*include\s*<(mpi|otf2|zstd|Python)", path.read_text()), _name(path)


def test_the_compile_path_starts_fast() -> None:
    """What the compiler wrapper imports before it becomes the compiler: nothing heavy."""
    seen: set[str] = set()
    todo = [PACKAGE / "wrappers" / "cc.py"]
    while todo:
        path = todo.pop()
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            names = [alias.name for alias in node.names]
            modules = (
                names if isinstance(node, ast.Import) else [node.module or "", *(f"{node.module}.{n}" for n in names)]
            )
            for module in modules:
                file = ROOT / "src" / Path(*module.split(".")).with_suffix(".py")
                if module not in seen and file.is_file():
                    todo.append(file)
                seen.add(module)
    foreign = {module.split(".")[0] for module in seen} - {"vtrace"}
    assert foreign <= set(sys.stdlib_module_names), foreign
    assert "vtrace.wrappers.compile.toolchain" in seen
    assert "vtrace.wrappers.mpi_shim.shim" not in seen


@pytest.mark.parametrize("path", [*PYTHON, *C_FILES, *BUILD_FILES], ids=_name)
def test_each_file(path: Path) -> None:
    text = path.read_text()
    lines = text.splitlines()
    head = lines[:2] if lines and lines[0].startswith("#!") else lines[:1]
    assert not lines or "SPDX-License-Identifier: BSD-3-Clause" in head[-1], "the first line names the licence"
    assert text.endswith("\n"), "the last line ends with a newline"
    assert not re.search(r"[ \t]+$", text, re.MULTILINE), "spaces at the end of a line"
    assert path.name == "Makefile" or "\t" not in text, "a tab"
    limit = 500 if path.suffix == ".py" else 700
    assert len(lines) <= limit, f"{len(lines)} lines, at most {limit}"
    assert not re.search(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b", text)
    assert not re.search(r"/(?:ro" r"ot|wo" r"rk/main|wo" r"rk/shared|tmp/[a-z]+)/", text), "a path of one machine"


@pytest.mark.parametrize("path", PYTHON, ids=_name)
def test_python_functions_are_short(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= 60, f"{node.name} has {length} lines"


@pytest.mark.parametrize("path", [path for path in C_FILES if path.suffix == ".c"], ids=_name)
def test_c_functions_are_short(path: Path) -> None:
    """A function's body stands between a { and a } in the first column."""
    begin = 0
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line == "{":
            begin = number
        elif line == "}" and begin:
            assert number - begin <= 62, f"{_name(path)}:{begin}: a function of {number - begin} lines"
            begin = 0
