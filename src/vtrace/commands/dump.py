# SPDX-License-Identifier: BSD-3-Clause
"""After the run: Print the records and definitions of local files."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import click

from vtrace.commands.completion import complete_target
from vtrace.console import few_names
from vtrace.errors import FormatError, VtraceError
from vtrace.io.local import listing
from vtrace.io.local.kernel import Kernel
from vtrace.io.local.local_files import LocalFile, Stream, open_local, read_head, read_uctl
from vtrace.io.local.records import BUFFER, DEFINITIONS, EVENTS, FILE_MAGIC, PROFILE, SAMPLES
from vtrace.io.local.samples import Sample, read_samples
from vtrace.symbols.modules import Place
from vtrace.symbols.symbols import Symbols
from vtrace.text import json_text, plain
from vtrace.unify.discover.discover import find_run
from vtrace.unify.discover.list_files import LOCAL, resolve_prefix
from vtrace.unify.model.labels import Labels
from vtrace.unify.model.process import Process, Run
from vtrace.unify.model.process_definitions import ProcessDefinitions, inherit
from vtrace.unify.reading.process_reader import read_contents

Item = dict[str, Any]
"""One line of output; type names its kind."""

_SAMPLE, _ROW = "SAMPLE", "ROW"
_DEFINITION = "DEFINITION"
_KINDS = sorted({*listing.RECORD_KINDS, *DEFINITIONS, _SAMPLE, _ROW})
_HEXADECIMAL = {"hash", "world", "slot", "start", "bias"}
"""Fields of definitions that are printed as hexadecimal numbers."""
_BARE = re.compile(r"[^\s\"'=]+")


class _DumpCommand(click.Command):
    """The command, with the kinds of the schema in its help."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_help_text(ctx, formatter)
        for title, kinds in (("Kinds of records", listing.RECORD_KINDS), ("Kinds of definitions", DEFINITIONS)):
            with formatter.section(title):
                formatter.write_text(" ".join(kinds))


@click.command(cls=_DumpCommand)
@click.argument("target", metavar="PREFIX|FILE", shell_complete=complete_target)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@click.option("--records/--no-records", default=True, hidden=True)
@click.option("--only", metavar="KIND", multiple=True, type=click.Choice([*_KINDS, _DEFINITION], case_sensitive=False),
              help="Show records and definitions of this kind only; may be repeated. definition: heads and "
              "definitions, without records.")  # fmt: skip
@click.option("--location", metavar="N", type=click.IntRange(0), help="Show what this location of each process wrote.")
@click.option("--names/--no-names", default=True, hidden=True)  # --no-names shows addresses, for tests
def command(
    target: str, as_json: bool, records: bool, only: tuple[str, ...], *, location: int | None, names: bool
) -> None:
    """The local files are those of a run, or one file. A line begins with file, block or chunk for the head of one,
    with definition, or with RANK:LOCATION for a record. A record is shown with its time in ticks, ticks since the
    record before, kind, name with number, and payload. SAMPLE is shown with its weight in ns, the reason why its stack
    ends, and the stack, innermost function first; ROW is a call path of a profile. Blocks after damage are shown, too.

    \b
    Examples:
      vtrace dump heat                           all files of the last run under this prefix
      vtrace dump heat.1.events.z | less         one file: .def, .events, .buffer or .uctl
      vtrace dump heat --only SEND --only RECV   messages of all ranks
      vtrace dump heat --only definition         heads and definitions
      vtrace dump heat --json | jq .kind         for scripts
    """
    problems = []
    kinds = frozenset(only) - {_DEFINITION}
    for item in _Dump(records and _DEFINITION not in only, kinds, location, names).of(target):
        if item["type"] == "problem":
            problems.append(item["text"])
        sys.stdout.write((json_text(item) if as_json else _text(item)) + "\n")
    if problems:
        more = f"and {len(problems) - 1} more, see the lines with problem" if problems[1:] else None
        raise FormatError(problems[0], more)


@dataclass
class _Dump:
    """The options, and the names found so far."""

    records: bool
    only: frozenset[str]
    location: int | None
    names: bool
    kernel: Kernel = field(default_factory=Kernel)
    symbols: Symbols = field(default_factory=lambda: Symbols(0))

    def of(self, target: str) -> Iterator[Item]:
        """Yields all lines of a file or of a run. Raises VtraceError if there is neither."""
        if _is_local(Path(target)):
            yield from self._one(Path(target))
            return
        if LOCAL.fullmatch(Path(target).name) and not Path(target).exists():
            raise VtraceError(f"{target}: no such file")
        problems: list[str] = []
        run = find_run(resolve_prefix(target), True, problems.append)
        yield from map(_problem, problems)
        if run.others:
            others = plain(few_names(run.others))
            click.echo(f"vtrace: files of other runs are left alone: {others}", err=True)
        if run.uctl and self.location is None:
            yield from self._control(run.uctl)
        for process in run.processes:
            labels = self._labels(process, run)
            for path in [head.path for head in process.files] + ([process.buffer] if process.buffer else []):
                yield from self._file(path, labels)
            yield from ({"type": "empty", "path": str(path)} for path in process.empty if not self.only)

    def _one(self, path: Path) -> Iterator[Item]:
        if path.name.endswith(".uctl"):
            yield from self._control(path)
            return
        head = read_head(path)
        alone = Process(head, [], path) if head.content == BUFFER else Process(head, [head])
        run = Run(prefix=path, id=head.run, processes=[alone], missing=[], ranks=0, uctl=None)
        with suppress(VtraceError, OSError):  # definitions may be in other files of the process
            run = find_run(path.with_name(head.prefix), True, lambda text: None)
        process = next((p for p in run.processes if p.head.process == head.process), alone)
        yield from self._file(path, self._labels(process, run))

    def _control(self, path: Path) -> Iterator[Item]:
        try:
            known = asdict(read_uctl(path))
        except VtraceError as error:
            yield _problem(str(error))
            return
        if not self.only:
            yield {"type": "uctl", "path": str(path)} | {key: listing.plain(value) for key, value in known.items()}

    def _file(self, path: Path, labels: Labels) -> Iterator[Item]:
        try:
            file = open_local(path)
        except VtraceError as error:
            yield _problem(str(error))
            return
        with file:
            if self.location is None or file.head.content == BUFFER or file.head.location == self.location:
                if not self.only:
                    yield {"type": "file"} | listing.head(file)
                yield from self._rows(file, labels)
                if file.cut:
                    yield _problem(file.cut)

    def _rows(self, file: LocalFile, labels: Labels) -> Iterator[Item]:
        stream = listing.rows(file)
        events = self.records and (not self.only or not self.only.isdisjoint(listing.RECORD_KINDS))
        for number, row in enumerate(stream.index):
            if self.location is not None and row["location"] != self.location:
                continue
            if not self.only:
                head = listing.row(file, stream, number)
                yield head | {"open": [labels.of(record)["name"] for record in head["open"]]}
            where = {"rank": file.head.rank, "pid": file.head.pid, "location": int(row["location"])}
            try:
                if row["content"] == SAMPLES:
                    yield from self._samples(stream, number, labels, where)
                elif row["content"] == PROFILE:
                    yield from self._profile(stream, number, labels, where)
                elif row["content"] != EVENTS:
                    for kind, values in listing.definitions(self.kernel, stream, number):
                        if not self.only or kind in self.only:
                            yield {"type": "definition", **where, "kind": kind, "fields": values}
                elif events:
                    for record in listing.records(self.kernel, stream, number):
                        if not self.only or record.kind in self.only:
                            known = {"kind": record.kind, "ticks": record.ticks, "delta": record.delta}
                            yield {"type": "record", **where, **known, **labels.of(record)}
            except FormatError as error:
                yield _problem(str(error))

    def _samples(self, stream: Stream, number: int, labels: Labels, where: Item) -> Iterator[Item]:
        """Yields the samples of a block, up to the first damage."""
        if not self.records or (self.only and _SAMPLE not in self.only):
            return
        samples: list[Sample] = []
        damage: FormatError | None = None
        try:
            samples += read_samples(self.kernel, stream, number)
        except FormatError as error:
            damage = error
        found = labels.learn_frames({frame for sample in samples for frame in sample.frames})
        if self.names:
            self._resolve(found)
        yield from ({"type": "sample", **where, **labels.of_sample(sample)} for sample in samples)
        if damage:
            raise damage

    def _profile(self, stream: Stream, number: int, labels: Labels, where: Item) -> Iterator[Item]:
        """Yields the rows of a profile."""
        if not self.records or (self.only and _ROW not in self.only):
            return
        for record, values in listing.profile(self.kernel, stream, number):
            yield {"type": "row", **where, "name": labels.of(record)["name"] if record else None, **values}

    def _resolve(self, found: Iterable[Place]) -> None:
        known = len(self.symbols.warnings)
        self.symbols.resolve(found)
        for text in self.symbols.warnings[known:]:
            click.echo(f"vtrace: warning: {plain(text)}", err=True)

    def _labels(self, process: Process, run: Run) -> Labels:
        labels = Labels(self._definitions(process, run), self.symbols)
        if self.names:
            self.symbols.run_start = process.head.start
            self._resolve(labels.learn(process))
        return labels

    def _definitions(self, process: Process, run: Run) -> ProcessDefinitions:
        """Returns the definitions of a process, with those that a forked child inherits."""
        with suppress(VtraceError):  # the damage is reported where the file is shown
            process.contents = read_contents(process, self.kernel, salvage=True, with_samples=False)
        for parent in (p for p in run.processes if process.head.forked and p.head.process == process.parent):
            if parent.head.start < process.head.start:
                inherit(process.definitions, self._definitions(parent, run), process.head.pair[0])
        return process.definitions


def _is_local(path: Path) -> bool:
    """Returns whether path is a local file; an executable may have the name of the prefix."""
    if re.search(r"\.(?:(?:def|events)(?:\.z)?|buffer|uctl)$", path.name) and path.exists():
        return True
    try:
        with path.open("rb") as file:
            return file.read(len(FILE_MAGIC)) == FILE_MAGIC
    except OSError:
        return False


def _problem(text: str) -> Item:
    return {"type": "problem", "text": listing.plain(text)}


def _text(item: Item) -> str:
    rest = dict(item)
    match rest.pop("type"):
        case "problem":
            return f"problem {rest['text']}"
        case "file" | "uctl" | "empty" as kind:
            return f"{kind} {_shown(rest.pop('path'))} {_pairs(rest, ('world',))}".rstrip()
        case "block" | "chunk" as kind:
            return f"{kind} {_pairs(rest)}"
        case kind:
            rank, pid, location = rest.pop("rank"), rest.pop("pid"), rest.pop("location")
            who = f"{f'pid{pid}' if rank is None else rank}:{location}"
            if kind == "sample":
                ticks, _ = rest.pop("ticks"), rest.pop("at")
                return f"{who} {ticks} {_SAMPLE} {_pairs(rest)}"
            if kind == "row":
                return f"{who} {_ROW} {_pairs(rest)}"
            if kind == "definition":
                return f"definition {who} {rest['kind']} {_pairs(rest['fields'], _HEXADECIMAL)}"
            return f"{who} {_record(rest)}"


def _record(rest: Item) -> str:
    start = f"{rest.pop('ticks')} +{rest.pop('delta'):<7} {rest.pop('kind')}"
    if "name" not in rest:
        return f"{start} {_pairs(rest, ('block',))}".rstrip()
    name, at = rest.pop("name"), rest.pop("at", None)
    number = rest.pop(next(iter(rest)))  # the id that REFERS_TO names, or the address
    name = name if name.isprintable() else json_text(name)
    return f"{start} {name} {f'<{plain(str(at or number))}>' if name != at else ''} {_pairs(rest, ('block',))}".rstrip()


def _pairs(values: Item, hexadecimal: Iterable[str] = ()) -> str:
    return " ".join(f"{key}={_shown(value, key in hexadecimal)}" for key, value in values.items())


def _shown(value: Any, hexadecimal: bool = False) -> str:
    if value is None or value == []:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return hex(value) if hexadecimal else str(value)
    if isinstance(value, str) and _BARE.fullmatch(value) and value.isprintable():
        return value
    if isinstance(value, list) and not any(isinstance(entry, str) and "," in entry for entry in value):
        return ",".join(map(_shown, value))
    return plain(json.dumps(value, ensure_ascii=False))
