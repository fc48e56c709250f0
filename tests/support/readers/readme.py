# SPDX-License-Identifier: BSD-3-Clause
"""The commands in README.md, and the output below them."""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass, field

from support.tools import ROOT

TEXT = (ROOT / "README.md").read_text()


@dataclass
class Command:
    """A line to type. shown: the output below it in the README, or None."""

    line: str
    shown: list[str] | None = None


@dataclass
class ReadmeBlock:
    """An indented block: shell commands, or a Python script."""

    heading: str
    commands: list[Command] = field(default_factory=list)
    script: str = ""


def blocks() -> list[ReadmeBlock]:
    """All indented blocks of the README, in order."""
    found: list[ReadmeBlock] = []
    heading, inside = "", False
    for line in TEXT.splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        if line.startswith("    "):
            if not inside:
                found.append(ReadmeBlock(heading))
            _add(found[-1], line[4:])
        inside = line.startswith("    ") or (inside and not line)
    return found


def _add(block: ReadmeBlock, line: str) -> None:
    last = block.commands[-1] if block.commands else None
    if block.script or re.match(r"(import|from) \w+", line):
        block.script += line + "\n"
    elif line.startswith("$ "):
        block.commands.append(Command(line[2:], []))
    elif last and last.shown is not None:
        last.shown.append(line)
    else:
        block.commands.append(Command(line))


def inline() -> list[str]:
    """All texts between backticks outside of the blocks."""
    return re.findall(r"`([^`\n]+)`", "\n".join(line for line in TEXT.splitlines() if not line.startswith("    ")))


def missing(shown: list[str], printed: str) -> list[str]:
    """The shown lines without a matching printed line; "..." matches anything.

    Numbers may differ if one is not whole (times, versions) or counts bytes. The name of the machine may differ, too.
    """
    actual = [line.split() for line in printed.splitlines()]
    wanted = [line.split() for line in shown if line.strip() != "..."]
    return [" ".join(words) for words in wanted if not any(_same(words, line) for line in actual)]


def _same(shown: list[str], printed: list[str]) -> bool:
    if len(shown) != len(printed):
        return False
    followers = [*printed[1:], ""]
    return all(a == b or _varies(a, b, after) for a, b, after in zip(shown, printed, followers, strict=True))


def _varies(shown: str, printed: str, after: str) -> bool:
    if printed == platform.node():
        return True
    number = r"\d+(\.\d+)*(e[-+]\d+)?,?"
    if not re.fullmatch(number, shown) or not re.fullmatch(number, printed):
        return False
    return after.startswith("bytes") or "." in shown + printed
