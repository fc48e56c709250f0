# SPDX-License-Identifier: BSD-3-Clause
"""tools/mutants.py: its changes of a sample in both languages, the order by seed, and results of an earlier run."""

from __future__ import annotations

import ast
import importlib.util
import json
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from support.tools import ROOT, call, need

TOOL = ROOT / "tools" / "mutants.py"
SPEC = importlib.util.spec_from_file_location("mutants", TOOL)
assert SPEC is not None
assert SPEC.loader is not None
tool = sys.modules["mutants"] = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(tool)

C = """#define LARGE(n) ((n) > 7)
/* a < b; */
int f(int a, int *b) { // a + 1
    if (a < 2 && *b)
        b[0] = "x < 1"[0];
    log_error("%d", a + 1);
    return a - 3;
}
"""
C_CHANGES = [
    (4, "condition", "a < 2 && *b", "!(a < 2 && *b)"),
    (4, "operator", "<", "<="),
    (4, "constant", "2", "3"),
    (4, "operator", "&&", "||"),
    (5, "constant", "0", "1"),
    (5, "constant", "0", "1"),
    (6, "statement", 'log_error("%d", a + 1);', ";"),
    (7, "operator", "-", "+"),
    (7, "constant", "3", "4"),
]
PYTHON = '''"""1 < 2"""
from typing import Literal

def f(a: Literal[1], b: list) -> Literal[2]:
    """a + b"""
    if a < len("ä") and b:  # a or b
        b.append(
            a)
    return a if b is None else -a
'''
PYTHON_CHANGES = [
    (6, "condition", 'a < len("ä") and b', '(not (a < len("ä") and b))'),
    (6, "operator", "<", "<="),
    (6, "operator", "and", "or"),
    (7, "statement", "b.append(\n            a)", "pass\n"),
    (9, "branch", "a if b is None else -a", "-a if b is None else a"),
    (9, "operator", "is", "is not"),
]


def latin(text: str) -> str:
    """A source as the tool reads it: each byte a character."""
    return text.encode().decode("latin-1")


@pytest.mark.parametrize(("name", "source", "changes"), [("a.c", C, C_CHANGES), ("a.py", PYTHON, PYTHON_CHANGES)])
def test_changes_of_a_source(name: str, source: str, changes: list[tuple[int, str, str, str]]) -> None:
    found = [(m.line, m.kind, m.old, m.new) for m in tool.mutants(name, latin(source))]
    assert found == [(line, kind, latin(old), latin(new)) for line, kind, old, new in changes]


def test_changed_sources_compile_differ_and_keep_their_lines() -> None:
    for mutant in tool.mutants("a.py", latin(PYTHON)):
        changed = mutant.apply(latin(PYTHON))
        assert ast.dump(ast.parse(changed.encode("latin-1"))) != ast.dump(ast.parse(PYTHON))
        assert changed.count("\n") == PYTHON.count("\n")
    for mutant in tool.mutants("a.c", C):
        changed = mutant.apply(C)
        assert changed != C
        words = [need("gcc"), "-fsyntax-only", "-Wno-implicit-function-declaration", "-x", "c", "-"]
        subprocess.run(words, input=changed, text=True, check=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for area in tool.AREAS:
        (tmp_path / area).mkdir(parents=True)
    (tmp_path / "csrc/core/a.c").write_text(C)
    (tmp_path / "src/vtrace/io/a.py").write_text(PYTHON)
    return tmp_path


def test_a_seed_gives_an_order_of_all_changes(project: Path) -> None:
    first = [*tool.drawn(project, 1)]
    assert first == [*tool.drawn(project, 1)] != [*tool.drawn(project, 2)]
    assert len(first) == len({mutant.key() for mutant in first}) == len(C_CHANGES) + len(PYTHON_CHANGES)


def test_tests_of_a_source_in_order(project: Path) -> None:
    for name, text in {"test_b": "from vtrace.io import a, b", "test_a": "import vtrace.io.a", "test_c": "a"}.items():
        (project / "tests/unit").mkdir(parents=True, exist_ok=True)
        (project / f"tests/unit/{name}.py").write_text(text)
    (project / "tests/unit/test_local.py").write_text("")
    expected = ["tests/unit/test_a.py", "tests/unit/test_b.py", "tests/unit/test_local.py"]
    assert tool.concerned(project, "src/vtrace/io/a.py", {}) == expected


def test_report_of_an_earlier_run(tmp_path: Path) -> None:
    """The last line of a mutant counts; changes to the same code do not count."""
    line = {"path": "csrc/core/a.c", "line": 3, "start": 9, "old": "<", "new": "<=", "kind": "operator"}
    results = [
        line | {"result": "survived"},
        line | {"start": 12, "result": "none"},
        line | {"start": 15, "result": "survived"},
        line | {"result": "found"},
    ]
    (tmp_path / "results-1.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in results))
    said = call([sys.executable, TOOL, "--work", tmp_path, "--report"], tmp_path).stdout.splitlines()
    assert said[0].split() == ["csrc/core", "1", "/", "2"]
    assert said[-2].split() == ["all", "1", "/", "2"]
    assert said[-1] == "csrc/core/a.c:3: operator: '<' -> '<='"


def test_a_run_goes_on_after_the_mutants_that_have_a_line(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Copy:
        def __init__(self, work: Path) -> None:
            self.root = project

    tried = []

    def found(copy: Copy, mutant: object) -> dict[str, object]:
        tried.append(mutant)
        return tool.asdict(mutant) | {"result": "none" if len(tried) == 1 else "found"}

    monkeypatch.setattr(tool, "Copy", Copy)
    monkeypatch.setattr(tool, "tried", found)
    for count in (2, 5):
        monkeypatch.setattr(sys, "argv", ["mutants.py", "--work", str(tmp_path), "--count", str(count)])
        tool.main()
    assert tried == [*islice(tool.drawn(project, 1), 6)]
