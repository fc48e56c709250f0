# SPDX-License-Identifier: BSD-3-Clause
"""Lines of Python's instructions, against those of the running CPython for its own code objects."""

from __future__ import annotations

import ast
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import pytest

from vtrace.symbols.python_lines import PythonLines

MODULES = ["ast.py", "threading.py", "asyncio/base_events.py", "email/_header_value_parser.py", "typing.py"]


def codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def agree(code: CodeType) -> None:
    lines = PythonLines(code.co_linetable, code.co_firstlineno)
    for begin, end, line in code.co_lines():
        assert {lines.of(unit) for unit in range(begin // 2, end // 2)} <= {line or 0}
    assert lines.of(len(code.co_code) // 2) == lines.of(-1) == 0


@pytest.mark.parametrize("name", MODULES)
def test_modules_of_the_standard_library(name: str) -> None:
    source = (Path(sysconfig.get_path("stdlib")) / name).read_text()
    found = list(codes(compile(source, name, "exec")))
    assert len(found) > 20
    for code in found:
        agree(code)


def test_lines_far_apart() -> None:
    """Differences of lines that need several bytes, forwards and backwards."""
    tree = ast.parse("first = 1\nsecond = 2\nthird = 3\nfourth = 4\n")
    for statement, line in zip(tree.body, (5, 70_000, 6, 900_000), strict=True):
        for node in ast.walk(statement):
            if hasattr(node, "lineno"):
                node.lineno = node.end_lineno = line
    agree(compile(tree, "far", "exec"))


@pytest.mark.parametrize("table", [b"", b"\xff", b"\xf0\x40", bytes(range(256))])
def test_damaged_tables(table: bytes) -> None:
    lines = PythonLines(table, 7)
    assert all(isinstance(lines.of(unit), int) for unit in range(300))
