# SPDX-License-Identifier: BSD-3-Clause
"""Reads reports of mpiP as programs that work with them do: by titles of sections and columns."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from support.tools import PROGRAMS


@dataclass
class Section:
    """number: behind the title's colon; columns: the names; rows: the words of each line."""

    number: int | None
    lines: list[str] = field(default_factory=list)

    @property
    def columns(self) -> list[str]:
        return self.lines[0].split()

    @property
    def rows(self) -> list[list[str]]:
        return [line.split() for line in self.lines[1:] if line]


@dataclass
class Report:
    """head: the @ lines, tasks: host by rank, sections: by title."""

    head: dict[str, str]
    tasks: dict[int, str]
    sections: dict[str, Section]


RULE = "-" * 75


def parse(text: str) -> Report:
    """The report in text; lines that mpiP does not write so are assertion errors."""
    lines = text.splitlines()
    assert lines[0] == "@ mpiP", lines[0]
    assert lines[1].startswith("@ Command : ")
    head, tasks, sections = {"Command": lines[1][12:].strip()}, {}, {}
    at = 2
    while lines[at].startswith("@"):
        name, value = re.fullmatch(r"@ (.{25}): (.*)", lines[at]).groups()  # type: ignore[union-attr]
        if name.strip() == "MPI Task Assignment":
            rank, host = value.split(" ", 1)
            tasks[int(rank)] = host
        else:
            head[name.strip()] = value
        at += 1
    assert lines[at] == ""
    for number, line in enumerate(lines[at + 1 :], at + 1):
        if title := re.fullmatch(r"@--- (.+?)(?:: (\d+))? -*", line):
            assert lines[number - 1] == lines[number + 1] == RULE
            assert len(line) == 75 or len(title[1]) > 60, line
            section = sections[title[1]] = Section(int(title[2]) if title[2] else None)
        elif line != RULE:
            section.lines.append(line)
    assert [title for title in sections if sections[title].lines == []] == ["End of Report"]
    return Report(head, tasks, sections)


def lines_of(source: str) -> dict[str, int]:
    """The lines of a program in tests/programs that have a comment site: NAME."""
    text = (PROGRAMS / source).read_text().splitlines()
    return {m[1]: number for number, line in enumerate(text, 1) if (m := re.search(r"site: ([a-z_]+)", line))}
