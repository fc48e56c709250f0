# SPDX-License-Identifier: BSD-3-Clause
"""What README.md tells a new user to type, and what it says comes of it."""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass, field

from support.tools import ROOT

TEXT = (ROOT / "README.md").read_text()


@dataclass
class Command:
    """A line to type; shown: what the README prints below it, None where it shows nothing."""

    line: str
    shown: list[str] | None = None


@dataclass
class Block:
    """An indented block: commands of a shell, or a script in Python."""

    heading: str
    commands: list[Command] = field(default_factory=list)
    script: str = ""


def blocks() -> list[Block]:
    """All indented blocks of the README, in order."""
    found: list[Block] = []
    heading, inside = "", False
    for line in TEXT.splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        if line.startswith("    "):
            if not inside:
                found.append(Block(heading))
            _add(found[-1], line[4:])
        inside = line.startswith("    ") or (inside and not line)
    return found


def _add(block: Block, line: str) -> None:
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
    """All that stands between backticks in the text around the blocks."""
    return re.findall(r"`([^`\n]+)`", "\n".join(line for line in TEXT.splitlines() if not line.startswith("    ")))


def missing(shown: list[str], printed: str) -> list[str]:
    """The shown lines that do not occur in what was printed; "..." stands for anything.

    Where both have numbers of which one is not whole (times, versions), numbers of bytes, or where this machine's name
    is printed, they may differ.
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
