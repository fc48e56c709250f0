# SPDX-License-Identifier: BSD-3-Clause
"""The contract of commands that read archives: a command gets (trace, selection, output).

@trace_command opens the archives and declares the options that these commands share. A command names those that it
takes; any other option is an error.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from vtrace.commands.completion import complete_target
from vtrace.commands.stale import stale, warn_if_stale
from vtrace.console import Console, say, vtrace_console, wide_option
from vtrace.errors import UsageError, VtraceError
from vtrace.text import json_text, plain, shell_quoted

if TYPE_CHECKING:
    from vtrace.analysis.selection import Patterns, Selection
    from vtrace.analysis.trace import Trace
    from vtrace.reports.sheet import Sheet

_SIZES = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("bytes", 1))
_HELPERS = "helpers"
"""The word of --ranks for helper threads."""
_WINDOW = (
    click.Option(
        ["--from", "begin"], metavar="T",
        help="Only events after T: 1.5 or 1.5s, 200ms, 40us, 7ns, or 25% of the trace.",
    ),
    click.Option(["--to", "end"], metavar="T", help="Only events before T."),
    click.Option(
        ["--ranks"], metavar="0-7,12,helpers",
        help="Only these ranks; without MPI, only these processes. helpers: include helper threads of libraries, such "
        "as MPI's progress threads.",
    ),
    click.Option(["--helpers"], is_flag=True, hidden=True),
)  # fmt: skip
"""--from, --to, --ranks, and the old name of --ranks helpers."""
_CSV = click.Option(["--csv", "as_csv"], is_flag=True, help="Print all rows as CSV; times in ns.")


class Window(NamedTuple):
    """The values of --from, --to and --ranks; helpers: whether --ranks has the word."""

    begin: str | None = None
    end: str | None = None
    ranks: str | None = None
    helpers: bool = False

    @classmethod
    def taken(cls, values: dict[str, Any]) -> Window:
        """Takes the values of the window's options out of a command's values."""
        words = (values.pop("ranks", None) or "").split(",")
        ranks = ",".join(word for word in words if word != _HELPERS) or None
        helpers = values.pop("helpers", False) or _HELPERS in words
        return cls(values.pop("begin", None), values.pop("end", None), ranks, helpers)

    def of(self, trace: Trace, lanes: bool = False) -> Selection:
        """The selection of a trace. lanes: with lanes of imported data. Raises UsageError."""
        from vtrace.analysis.selection import Selection

        return Selection.of_options(trace, *self, lanes=lanes)

    def of_locations(self) -> str:
        """The words of a command that choose the same locations."""
        ranks = ",".join([self.ranks or "", _HELPERS * self.helpers]).strip(",")
        return f" --ranks {shell_quoted(ranks)}" if ranks else ""


@dataclass(kw_only=True)
class Output:
    """The values of the options that say what a command prints, and where to. archives: as the user gave them; path:
    the value of -o; patterns: of --select."""

    archives: tuple[str, ...]
    window: Window
    patterns: Patterns
    by: str
    sort: str
    top: int
    path: Path | None
    as_json: bool
    as_csv: bool
    console: Console

    @property
    def most(self) -> int | None:
        """The most rows of a table; None: all, for programs."""
        return None if self.as_json or self.as_csv else self.top

    def warn(self, lines: Iterable[str]) -> None:
        """Prints warnings."""
        for line in lines:
            self.console.warn(line)

    def selected(self, trace: Trace) -> Selection:
        """The part of a trace that the window and --select choose. Warns of names that match nothing. Raises
        UsageError."""
        self.warn(f"--select: {line}" for line in self.patterns.unmatched(trace))
        return self.patterns.within(trace, self.window.of(trace))

    def print(
        self, runs: Sequence[tuple[Trace, Selection]], made: Sequence[Sheet], head: Callable[[], dict[str, Any]],
        text: Callable[[], object], **tail: Any,
    ) -> None:  # fmt: skip
        """Prints the tables of runs in the format that the user chose. head, tail: the keys before and behind the
        tables in JSON; text: prints the tables for people."""
        from vtrace.reports import sheet

        if self.as_json:
            click.echo(json_text({**head(), **sheet.data(made), **tail}, indent=1))
        elif self.as_csv:
            for run in runs:
                warn_of_caveats(self.console, *run)
            click.echo(sheet.csv_text(made), nl=False)
        else:
            text()

    def print_compared(
        self, runs: Sequence[tuple[Trace, Selection]], made: Sheet, told: list[dict[str, Any]],
        lines: Sequence[Sequence[str]] = (), *, shown: Callable[[Sheet], Sheet], **tail: Any,
    ) -> None:  # fmt: skip
        """Prints a table with the numbers of several runs side by side. told: of each run, in JSON; lines: of each run,
        below its name; shown: makes the table for people."""
        from vtrace.reports import sheet

        def text() -> None:
            for number, (trace, part) in enumerate(runs, 1):
                click.echo(f"{number}  {plain(title(trace))}")
                for line in [*part.caveats(trace), *(lines[number - 1] if lines else ())]:
                    say(line, "   ")
            sheet.show([shown(made)])

        self.print(runs, [made], lambda: {"runs": told}, text, **tail)


def trace_command(
    *, archives: int = 1, metavar: str | None = None, check: Callable[[dict[str, Any]], object] | None = None,
    window: bool = True, helpers: bool = False, by: Sequence[str] = (), sort: Sequence[str] = (),
    sort_help: str = "Sort rows by this.", top: int = 0, select: str = "", output: click.Option | None = None,
    json: str = "", csv: bool = False, needs_events: bool = False,
) -> Callable[[Callable[..., Any]], click.Command]:  # fmt: skip
    """Makes a click command of function(trace, selection, output, **values of its own options).

    archives: number of archives, -1: any; a command of several gets lists, traces and selections. check: gets the
    values by name before an archive is opened; may change them, and raises UsageError. window: takes --from, --to and
    --ranks; helpers: helper threads are always selected. by, sort: the choices, the default first; top: the default;
    select, json: the help. Without these the command does not have the option; an option of its own precedes.
    needs_events: refuses a profile.
    """

    def options() -> Iterable[click.Parameter]:
        if by:
            yield click.Option(
                ["--by"], type=click.Choice(by), default=by[0], show_default=True, help="One row for each ..."
            )
        if sort:
            yield click.Option(["--sort"], type=click.Choice(sort), default=sort[0], show_default=True, help=sort_help)
        if top:
            yield click.Option(
                ["--top"], metavar="N", type=click.IntRange(1), default=top, show_default=True,
                help="Rows in each table.",
            )  # fmt: skip
        if select:
            yield click.Option(["--select", "chosen"], metavar="KIND=PATTERN", multiple=True, help=select)
        if window:
            yield from _WINDOW[:-1] if helpers else _WINDOW
        if output:
            yield output
        if json:
            yield click.Option(["--json", "as_json"], is_flag=True, help=json)
        if csv:
            yield _CSV
        if json and not output:
            yield wide_option()

    def decorate(function: Callable[..., Any]) -> click.Command:
        def run(**values: Any) -> Any:
            if values.get("as_json") and values.get("as_csv"):
                raise UsageError("--json and --csv exclude each other", "use one of them")
            from vtrace.analysis.selection import Patterns

            values["patterns"] = Patterns.of_options(values.pop("chosen", ()))
            if check:
                check(values)
            given = values.pop("archive")
            of, patterns = Window.taken(values), values.pop("patterns")
            if helpers:
                of = of._replace(helpers=True)
            shown = Output(
                archives=(given,) if archives == 1 else given, window=of, patterns=patterns, by=values.pop("by", ""),
                sort=values.pop("sort", ""), top=values.pop("top", 0), path=values.pop("output", None),
                as_json=values.pop("as_json", False), as_csv=values.pop("as_csv", False),
                console=vtrace_console(),
            )  # fmt: skip
            traces = [opened(name, needs_events=needs_events) for name in shown.archives]
            for trace in traces:
                trace.progress = functools.partial(_progress, shown.console)
            parts = [of.of(trace) for trace in traces]
            if archives == 1:
                return function(traces[0], parts[0], shown, **values)
            return function(traces, parts, shown, **values)

        command = click.command()(functools.update_wrapper(run, function))
        argument = click.Argument(
            ["archive"], nargs=archives, required=True, metavar=metavar, shell_complete=complete_target
        )
        own = {name for option in command.params for name in option.opts}
        command.params = [argument, *command.params, *(one for one in options() if own.isdisjoint(one.opts))]
        return command

    return decorate


def _progress(console: Console, events: int) -> AbstractContextManager[Callable[[int], object]]:
    """On a terminal, a bar for a pass that takes long; nothing beside the bar of a command that has its own."""
    return console.steps("reading events", events, "events") if console.shows_bars else nullcontext(lambda _: None)


def window_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --from, --to and --ranks to a command that opens its archives itself; Window.taken reads the values."""
    function.__dict__.setdefault("__click_params__", []).extend(reversed(_WINDOW))
    return function


def output_option(ending: str) -> click.Option:
    """The option -o of a command that writes one file. ending: of the default."""
    return click.Option(
        ["-o", "--output"], metavar="FILE", type=click.Path(path_type=Path),
        help=f"Write to FILE [default: ARCHIVE.{ending} here].",
    )  # fmt: skip


def new_archive_option() -> click.Option:
    """The option -o of a command that writes an archive."""
    return click.Option(
        ["-o", "--output"], metavar="NEW", type=click.Path(path_type=Path), required=True,
        help="Write the archive NEW.trace.",
    )  # fmt: skip


def check_output(path: Path, option: str = "-o") -> None:
    """Raises UsageError or VtraceError if no file can have this path. option: which names the path."""
    if str(path) == "-":
        raise UsageError(f"{option} - does not mean standard output here", f"give {option} a file name")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise VtraceError(f"cannot write {path}", f"give {option} a file name in an existing directory")


def opened(archive: str, *, needs_events: bool = False) -> Trace:
    """Opens an archive. Warns on standard error if the archive is older than the last run or its definitions are
    damaged. needs_events: refuses a profile. Raises VtraceError."""
    import vtrace

    trace = vtrace.open(archive)
    if needs_events:
        trace.need_events()
    warn_if_stale(trace.path, trace.vtrace.get("ABOUT"))
    for line in trace.problems:
        vtrace_console().warn(line)
    return trace


def stale_lines(trace: Trace) -> list[str]:
    """The warning of warn_if_stale as a list of at most one line, for JSON output."""
    text = stale(trace.path, trace.vtrace.get("ABOUT"))
    return [text.removeprefix("warning: ")] if text else []


def caveats(trace: Trace, part: Selection) -> list[str]:
    """The caveats of a part of a trace, for JSON output."""
    return [*stale_lines(trace), *part.caveats(trace)]


def warn_of_caveats(console: Console, trace: Trace, part: Selection) -> list[str]:
    """Prints the caveats of this part of the trace on standard error, before any result; returns the lines."""
    lines = part.caveats(trace)
    for line in lines:
        console.warn(line)
    return lines


def title(trace: Trace) -> str:
    """The name of the trace: heat for heat.trace/traces.otf2."""
    name = trace.path.parent.name if trace.path.name == "traces.otf2" else trace.path.stem
    return name.removesuffix(".trace") or str(trace.path)


def print_head(trace: Trace, part: Selection) -> None:
    """Prints the name of a trace and the caveats of a part."""
    click.echo(click.style(plain(title(trace)), bold=True))
    for line in part.caveats(trace):
        say(line, "  ")


def titles(traces: Sequence[Trace], given: Sequence[str]) -> list[str]:
    """The names of traces; as the user gave the archives if two names are the same."""
    names = [title(trace) for trace in traces]
    return names if len(set(names)) == len(names) else [plain(each) for each in given]


def size(path: Path) -> str:
    """The size of a file in text, such as 3.1 MB."""
    count = path.stat().st_size
    return next(f"{count / size:.3g} {unit}" for unit, size in _SIZES if count >= size or size == 1)
