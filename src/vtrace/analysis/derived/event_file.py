# SPDX-License-Identifier: BSD-3-Clause
"""Reads files of derived events, in the syntax of PAPI's event definition files.

Source: the manual page PAPI_derived_event_files of PAPI 5.5.1. Its example has `CPU nhm` with a blank, and notes in
single quotes; PAPI's own table has `CPU,nhm`. Both are accepted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from vtrace.analysis.derived.formulas import Formula, FormulaError, infix, postfix
from vtrace.errors import VtraceError

CYCLES = "PAPI_TOT_CYC"
"""The base event that DERIVED_PS and DERIVED_ADD_PS divide by."""

_NUMBER_OF_BASES = {
    "NOT_DERIVED": (1, 1),
    "DERIVED_CMPD": (1, None),
    "DERIVED_ADD": (1, None),
    "DERIVED_SUB": (1, None),
    "DERIVED_PS": (2, 2),
    "DERIVED_ADD_PS": (3, None),
    "DERIVED_POSTFIX": (1, None),
    "DERIVED_INFIX": (1, None),
}
"""Derived type -> least and most base events. PAPI's own table has sums of one event."""

_FORMULAS = {"DERIVED_POSTFIX": postfix, "DERIVED_INFIX": infix}
_TEXTS = ("LDESC", "SDESC", "NOTE")
_LARGEST = 64 << 20


@dataclass(frozen=True)
class Problem:
    """An error or a warning about a place of a file; line and column count from 1."""

    line: int
    column: int
    text: str
    warning: bool = False


@dataclass(frozen=True)
class _Word:
    text: str
    column: int
    quoted: bool = False


@dataclass(frozen=True, kw_only=True)
class DerivedEvent:
    """A PRESET or EVENT line. bases: names of base events; base_columns: their columns in the line, from 1."""

    name: str
    type: str
    bases: tuple[str, ...]
    formula: Formula | None
    line: int
    column: int
    base_columns: tuple[int, ...]
    texts: dict[str, str] = field(default_factory=dict, compare=False)


@dataclass
class Section:
    """The events of one list of CPU lines. pmus: empty for events before the first CPU line, which apply everywhere."""

    pmus: list[str]
    events: dict[str, DerivedEvent] = field(default_factory=dict)


@dataclass
class EventFile:
    """The sections of a file, and its problems by line and column."""

    path: Path
    sections: list[Section]
    problems: list[Problem]

    @property
    def errors(self) -> list[Problem]:
        return [problem for problem in self.problems if not problem.warning]


class _LineError(Exception):
    def __init__(self, text: str, column: int) -> None:
        super().__init__(text)
        self.column = column


def read_events(path: Path) -> EventFile:
    """Reads a file. Lines with errors are left out, and are among the problems.

    Raises VtraceError if the file cannot be read."""
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise VtraceError(f"{path}: {error.strerror}", "name a file of derived events") from None
    if len(data) > _LARGEST:
        raise VtraceError(f"{path}: larger than {_LARGEST >> 20} MiB", "name a file of derived events")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        column = len(before) - before.rfind(b"\n")
        return EventFile(path, [], [Problem(before.count(b"\n") + 1, column, "not UTF-8 text")])
    return _Parser(path).parse(text)


class _Parser:
    def __init__(self, path: Path) -> None:
        self.file = EventFile(path, [], [])
        self.listing = False  # the last line with a command was a CPU line
        self.lines: dict[tuple[str, str], int] = {}  # PMU and event -> line of the definition

    def parse(self, text: str) -> EventFile:
        for number, line in enumerate(text.split("\n"), 1):
            stripped = line.strip()
            if not stripped or stripped.startswith("#"):
                continue
            try:
                self._line(line.rstrip(), number)
            except _LineError as error:
                self.file.problems.append(Problem(number, error.column, str(error)))
        return self.file

    def _line(self, line: str, number: int) -> None:
        start = len(line) - len(line.lstrip())
        command = line[start:].replace(",", " ").split(maxsplit=1)[0]
        if command == "CPU":
            self._cpu(line, start + len(command))
        elif command in ("PRESET", "EVENT"):
            self.listing = False
            self._event(command, line, number)
        else:
            raise _LineError(f"unknown command {command}: CPU, PRESET or EVENT", start + 1)

    def _cpu(self, line: str, end: int) -> None:
        words = list(_words(line[end + 1 :], end + 1))
        if not words[0].text:
            raise _LineError("CPU without the name of a PMU", len(line) + 1)
        if len(words) > 1:
            raise _LineError("a second value after the name of the PMU", words[1].column)
        if not self.listing:
            self.file.sections.append(Section([]))
        self.listing = True
        self.file.sections[-1].pmus.append(words[0].text)

    def _event(self, command: str, line: str, number: int) -> None:
        words = list(_words(line, 0))
        if words[0].text != command:
            raise _LineError(f"a comma must follow {command}", words[0].column + len(command))
        if len(words) > 4 and not words[-1].text and not words[-1].quoted:
            self._warn(number, words.pop().column, "a comma at the end of the line")
        for word in words:
            if not word.quoted and len(word.text.split()) > 1:
                self._warn(number, word.column, f"a value with white space needs quotes: {word.text}")
        event = _event_of(words, number, len(line) + 1)
        if not self.file.sections:
            self.file.sections.append(Section([]))
        self._add(command, event)

    def _warn(self, line: int, column: int, text: str) -> None:
        self.file.problems.append(Problem(line, column, text, warning=True))

    def _add(self, command: str, event: DerivedEvent) -> None:
        section = self.file.sections[-1]
        keys = [(pmu, event.name) for pmu in section.pmus or [""]]
        before = next((self.lines[key] for key in keys if key in self.lines), None)
        if before is not None:
            where = f"{event.name} is already defined in line {before}"
            if command == "EVENT":
                raise _LineError(where, event.column)
            # PAPI's own table defines presets twice. As in PAPI the last definition applies.
            self._warn(event.line, event.column, f"{where}; the last definition applies")
        self.lines |= dict.fromkeys(keys, event.line)
        section.events[event.name] = event
        if event.formula is not None:
            for index in sorted(set(range(len(event.bases))) - event.formula.bases):
                text = f"the formula does not use N{index}, {event.bases[index]}"
                self._warn(event.line, event.base_columns[index], text)


def _words(text: str, before: int) -> Iterator[_Word]:
    """The values of text between commas; before: number of characters of the line before text. Raises _LineError."""
    place = 0
    while True:
        while place < len(text) and text[place].isspace():
            place += 1
        column = before + place + 1
        if text[place : place + 1] in ("'", '"'):
            end = text.find(text[place], place + 1)
            if end < 0:
                raise _LineError(f"the quote {text[place]} is not closed", column)
            word = _Word(text[place + 1 : end], column + 1, quoted=True)
            comma = text.find(",", end + 1)
            after = text[end + 1 : comma if comma >= 0 else len(text)]
            if after.strip():
                wrong = before + end + 2 + len(after) - len(after.lstrip())
                raise _LineError(f"text after the closing quote: {after.strip()}", wrong)
        else:
            comma = text.find(",", place)
            word = _Word(text[place : comma if comma >= 0 else len(text)].rstrip(), column)
        yield word
        if comma < 0:
            return
        place = comma + 1


def _event_of(words: list[_Word], number: int, end: int) -> DerivedEvent:
    """The event of the words of a line; end: the column after the line's end. Raises _LineError."""
    if len(words) < 4:
        missing = ("name", "derived type", "base event")[len(words) - 1]
        raise _LineError(f"the {missing} is missing", end)
    _, name, kind = words[:3]
    if not name.text:
        raise _LineError("the name of the event is empty", name.column)
    if kind.text not in _NUMBER_OF_BASES:
        raise _LineError(f"unknown derived type {kind.text}: one of {', '.join(_NUMBER_OF_BASES)}", kind.column)
    values, texts = _split(words[3:], end)
    text = values.pop(0) if kind.text in _FORMULAS and values else None
    for word in values:
        if not word.text:
            raise _LineError("the name of a base event is empty", word.column)
    least, most = _NUMBER_OF_BASES[kind.text]
    if len(values) < least or (most is not None and len(values) > most):
        number_of = str(least) if least == most else f"at least {least}"
        column = values[most].column if most is not None and len(values) > most else end
        raise _LineError(f"{kind.text} takes {number_of} base events, not {len(values)}", column)
    if kind.text.endswith("_PS") and values[0].text != CYCLES:
        raise _LineError(f"the first base event of {kind.text} is {CYCLES}", values[0].column)
    return DerivedEvent(
        name=name.text,
        type=kind.text,
        bases=tuple(word.text for word in values),
        formula=_formula(kind.text, text, len(values)) if text else None,
        line=number,
        column=name.column,
        base_columns=tuple(word.column for word in values),
        texts=texts,
    )


def _formula(kind: str, word: _Word, bases: int) -> Formula:
    try:
        return _FORMULAS[kind](word.text, bases)
    except FormulaError as error:
        raise _LineError(str(error), word.column + error.offset) from None


def _split(words: list[_Word], end: int) -> tuple[list[_Word], dict[str, str]]:
    """The words before the first LDESC, SDESC or NOTE, and the texts after these keywords. Raises _LineError."""
    first = next((i for i, word in enumerate(words) if word.text in _TEXTS and not word.quoted), len(words))
    texts: dict[str, str] = {}
    for index in range(first, len(words), 2):
        keyword = words[index]
        if keyword.text not in _TEXTS or keyword.quoted:
            raise _LineError(f"{', '.join(_TEXTS)} expected, not {keyword.text}", keyword.column)
        if index + 1 == len(words):
            raise _LineError(f"the text of {keyword.text} is missing", end)
        if keyword.text in texts:
            raise _LineError(f"a second {keyword.text}", keyword.column)
        texts[keyword.text] = words[index + 1].text
    return words[:first], texts
