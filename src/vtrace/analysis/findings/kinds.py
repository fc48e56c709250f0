# SPDX-License-Identifier: BSD-3-Clause
"""The kinds of findings, and the rules that make findings: functions of the modules *_findings.py beside this file. A
module is imported when a rule or a kind of it is needed, since vtrace summary shows stored findings without rules."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

SUBJECTS = ("waits", "io", "openmp", "processor")
"""The values of --about."""
_ORDER = (
    "thread_findings",
    "lock_findings",
    "general_findings",
    "mpi_findings",
    "uneven_work_findings",
    "iteration_findings",
)
"""The order of findings with equal losses, by module; other modules follow."""
_STATED = re.compile(r'FindingKind\(\s*"(\w+)"')

Rule = Callable[[Any], Iterable[Any]]
"""A function of a Diagnosis that has no findings yet. Yields findings of any size."""
_R = TypeVar("_R", bound=Rule)


@dataclass(frozen=True)
class FindingKind:
    """loss: the time that is lost, in Markdown, for docs/diagnose.md. about: the values of --about that show the
    findings. of_ranks: ranks wait for each other, so ranks that share cores make the loss doubtful. is_loss: False: the
    finding stands in for losses that were not found; always: it has bytes in place of a loss, and stands below all
    losses. action: what usually helps, "" if that depends on the program.
    of_machine: other programs, or the recording, cause this loss, so that large losses of the program stand before it.
    explained_by: kinds of findings that name the cause of this loss, too: beside them this finding is left out."""

    name: str
    loss: str
    _: KW_ONLY
    about: tuple[str, ...] = ()
    of_ranks: bool = False
    is_loss: bool = True
    always: bool = False
    action: str = ""
    of_machine: bool = False
    explained_by: tuple[str, ...] = ()


_kinds: dict[str, FindingKind] = {}
_rules: dict[str, list[Rule]] = {}
"""By module."""


def rule(*kinds: FindingKind) -> Callable[[_R], _R]:
    """A decorator of rules. kinds: of the findings, without those that another rule states."""
    state(*kinds)

    def add(function: _R) -> _R:
        _rules.setdefault(function.__module__, []).append(function)
        return function

    return add


def state(*kinds: FindingKind) -> None:
    """States kinds of findings that are made elsewhere than in a diagnosis."""
    _kinds.update({kind.name: kind for kind in kinds})


def rules() -> list[Rule]:
    """All rules."""
    return [each for name in _modules() for each in _rules.get(_import(name), ())]


def kind_of(name: str) -> FindingKind:
    """The kind with this name. Raises ValueError."""
    for module, path in _modules().items() if name not in _kinds else ():
        if name in _STATED.findall(path.read_text()):
            _import(module)
    if name not in _kinds:
        raise ValueError(f"unknown kind of finding: {name}")
    return _kinds[name]


def markdown() -> str:
    """The table of kinds that a diagnosis may have, for docs/diagnose.md."""
    names = sorted(name for path in _modules().values() for name in _STATED.findall(path.read_text()))
    rows = "".join(f"| `{name}` | {kind_of(name).loss} |\n" for name in names)
    return f"| kind | loss |\n|---|---|\n{rows}"


def _modules() -> dict[str, Path]:
    """The modules with rules, by name."""
    folders = sys.modules[__package__].__path__
    found = {path.stem: path for folder in folders for path in sorted(Path(folder).glob("*_findings.py"))}
    return {name: found[name] for name in [*_ORDER, *found] if name in found}


def _import(module: str) -> str:
    return import_module(f"{__package__}.{module}").__name__
