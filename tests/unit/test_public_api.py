# SPDX-License-Identifier: BSD-3-Clause
"""The public names: the table of docs/python-api.md and the __all__ of the modules agree."""

from __future__ import annotations

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

from vtrace.analysis.findings.finding import Finding
from vtrace.analysis.ledger import Ledger
from vtrace.analysis.selection import Selection
from vtrace.analysis.table import Table
from vtrace.analysis.trace import Trace

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "vtrace"


def documented() -> dict[str, list[str]]:
    section = (ROOT / "docs" / "python-api.md").read_text().partition("## Public names")[2]
    rows = re.findall(r"^\| `([\w.]+)` \| (.*?) \|", section, re.MULTILINE)
    return {module: re.findall(r"`(\w+)`", names) for module, names in rows}


def declared() -> dict[str, list[str]]:
    """__all__ by module, for modules of the package's top folder and of analysis, without importing them."""
    found = {}
    for path in [*PACKAGE.glob("*.py"), *(PACKAGE / "analysis").rglob("*.py")]:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
                parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
                found[".".join(parts).removesuffix(".__init__")] = ast.literal_eval(node.value)
    return found


def test_the_documentation_lists_the_declared_names() -> None:
    assert {module: sorted(names) for module, names in documented().items()} == {
        module: sorted(names) for module, names in declared().items()
    }


@pytest.mark.parametrize("module", sorted(declared()))
def test_each_name_exists_and_is_explained(module: str) -> None:
    loaded = import_module(module)
    for name in loaded.__all__:
        value = getattr(loaded, name)
        if callable(value):
            assert value.__doc__, f"{module}.{name} has no docstring"


def test_a_deprecated_name_warns() -> None:
    with pytest.warns(DeprecationWarning, match="use Ledger.has_intervals"):
        assert Ledger(intervals=Table({}), has_intervals=True, notes=[]).told


def test_parameters_that_were_positional_stay_so() -> None:
    """CONTRIBUTING.md: a caller's code keeps its meaning for two minor releases."""
    for method in (Trace.events, Trace.metric_values, Trace.timeline, Trace.scan):
        kinds = {parameter.kind for parameter in inspect.signature(method).parameters.values()}
        assert kinds == {inspect.Parameter.POSITIONAL_OR_KEYWORD}, method
    assert Finding("lock", 1, 0.5, "text").kind == "lock"
    assert Selection(0, 10).stop == 10
