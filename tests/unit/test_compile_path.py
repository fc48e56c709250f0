# SPDX-License-Identifier: BSD-3-Clause
"""The compiler wrappers must start fast, because they run before each compilation."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "vtrace"


def test_the_compile_path_starts_fast() -> None:
    """Before the compiler wrapper executes the compiler, it imports no slow module."""
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
