# SPDX-License-Identifier: BSD-3-Clause
"""Prepare: Show which regions fill the buffer, and write a filter for them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vtrace.commands.completion import complete_target
from vtrace.console import CLICK_SETTINGS, NORMAL, QUIET, Console, few, some
from vtrace.errors import UsageError, VtraceError
from vtrace.io.common.outfile import complete
from vtrace.reasons import OVERWRITTEN, WITHOUT_SAMPLES
from vtrace.text import json_text, plain

if TYPE_CHECKING:
    from vtrace.analysis.trace import Trace
    from vtrace.reports.score import Score

_EXAMPLES = """\b
Examples:
  vtrace score heat                               bytes and time of each region
  vtrace score heat --fit 32M -o heat.filter      a filter that needs at most 32 MB per process
  vtrace score heat --budget -o heat.filter       the functions that VT_BUDGET has left out
  VT_FILTER_SPEC=heat.filter mpiexec -n 4 ./heat
"""
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def _size(context: click.Context, parameter: click.Parameter, text: str | None) -> int | None:
    """The bytes of the value of --fit, such as 32M; a callback of click. Raises UsageError."""
    if text is None:
        return None
    digits, unit = (text[:-1], _UNITS.get(text[-1:].upper(), 0)) if not text.isdigit() else (text, 1)
    if not digits.isdigit() or not unit:
        raise UsageError(f"--fit {text} is not a size", "give bytes, or a number with K, M or G: --fit 32M")
    return int(digits) * unit


def fit_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --fit SIZE and -o FILTER to a click command; their values are the arguments fit and output."""
    fit = click.option(
        "--fit",
        metavar="SIZE",
        callback=_size,
        help="Write a filter with which a process needs at most SIZE bytes of buffer.",
    )
    output = click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        metavar="FILTER",
        help="Write the filter to FILTER [default: standard output].",
    )
    return fit(output(function))


@click.command(epilog=_EXAMPLES, context_settings=CLICK_SETTINGS)
@click.argument("target", metavar="PREFIX|ARCHIVE", shell_complete=complete_target)
@fit_options
@click.option(
    "--budget",
    is_flag=True,
    help="Write a filter for the functions that the run has left out, or mostly only counted, because of VT_BUDGET.",
)
@click.option("-n", "rows", default=30, type=click.IntRange(1), show_default=True, help="Regions to show.")
@click.option("--json", "as_json", is_flag=True, help="Print all regions as JSON, a list of objects.")
def command(target: str, fit: int | None, output: Path | None, rows: int, *, budget: bool, as_json: bool) -> None:
    """The same as vtrace filter PREFIX --top N, or with --fit SIZE. Show bytes of buffer and time by region, too; with
    --fit, fit the filter to a given size.

    PREFIX names local files, which vtrace score does not change, or an archive of vtunify. The bytes are estimates: two
    events of 8 bytes per call, plus the records of MPI, I/O and memory.
    """
    if budget and fit is not None:
        raise UsageError("--budget and --fit exclude each other", "leave one of them out")
    if budget:
        _write_choice(target, output)
    else:
        print_scores(target, fit, output, rows, as_json=as_json)


def _write_choice(target: str, output: Path | None) -> None:
    """Writes the filter of --budget. Raises VtraceError."""
    from vtrace.reports import score

    console = Console("vtrace", NORMAL)
    trace = _open(target)
    chosen = score.left_out_by_budget(trace, score.scores(trace))
    if not chosen:
        raise VtraceError(f"{target}: VT_BUDGET has left out no function", "use vtrace score --fit SIZE")
    title = f"{Path(target).name}: without {some(len(chosen), 'function')} that VT_BUDGET has left out or only counted"
    _write_filter(trace, chosen, title, output, console=console)


def _write_filter(
    trace: Trace, chosen: list[Score], title: str, output: Path | None, *, console: Console, as_json: bool = False
) -> None:
    from vtrace.reports import score

    functions, unread = _compiled_functions(trace)
    text, reasons = score.filter_text(chosen, title, functions)
    if output is None and not as_json:
        click.echo(text, nl=False)
    elif output is not None:
        with complete(output) as file:
            file.write(text)
        without = some(len(chosen), "function")
        click.echo(plain(f"{output}: {without}; next: run with VT_FILTER_SPEC={output}"))
    for line in _about_flag(reasons, unread if chosen else None):
        console.warn(line)


def print_scores(target: str, fit: int | None, output: Path | None, rows: int, *, as_json: bool) -> None:
    """Prints the scores of the regions of a trace, or writes a filter. Raises VtraceError."""
    from vtrace.reports import score

    if output is not None and fit is None:
        raise UsageError("-o needs --fit", "--fit SIZE sets the size that the filter must fit")
    console = Console("vtrace", NORMAL)
    trace = _open(target)
    known = len(trace.problems)
    found = score.scores(trace)
    for problem in trace.problems[known:]:
        console.warn(problem)
    if fit is not None:
        _refuse_incomplete(target, trace)
        for line in trace.caveats():
            console.warn(line)  # to standard error: the filter may go to standard output
    elif not as_json:
        for line in trace.caveats():
            click.echo(plain(line))
    if as_json:
        click.echo(json_text([asdict(row) for row in found], indent=2))
    elif fit is None:
        _show(found[:rows], score.total(found))
        click.echo(plain(f"next: vtrace score {target} --fit SIZE -o {Path(target).stem}.filter   for a smaller trace"))
    if fit is None:
        return
    chosen = score.to_leave_out(found, fit)
    left = score.total(found) - sum(row.most for row in chosen)
    without = some(len(chosen), "function")
    title = f"{Path(target).name}: {left:,} of {score.total(found):,} bytes per process without {without}"
    _write_filter(trace, chosen, title, output, console=console, as_json=as_json)
    if left > fit:
        console.warn(f"{left:,} bytes per process remain, more than {fit:,}: the filter excludes no calls of libraries")


def _refuse_incomplete(target: str, trace: Trace) -> None:
    """Raises VtraceError for a trace without some of the calls: the filter would not fit the size."""
    problems = [line for line in trace.problems if not line.startswith(WITHOUT_SAMPLES)]
    lines = [
        *problems,
        *(line for line in trace.caveats() if line.startswith(("incomplete", f"left out ({OVERWRITTEN})"))),
    ]
    if lines:
        raise VtraceError(
            f"--fit: {target} does not have all calls: {lines[0]}",
            "record a shorter run, or one with VT_MODE=TRACE, VT_MAX_FLUSHES=0 and a larger VT_MAX_SIZE",
        )


def _compiled_functions(trace: Trace) -> tuple[set[str], str | None]:
    """The compiled functions among the trace's regions and in the symbol table of its executable; and why the table
    could not be read, or None.
    """
    from vtrace.symbols.symbols import function_names

    names, linked, paradigms = (trace.regions[column].tolist() for column in ("name", "canonical", "paradigm"))
    found = {str(name) for name, paradigm in zip(names, paradigms, strict=True) if str(paradigm) == "COMPILER"}
    path = Path(str(trace.vtrace.get("ABOUT", {}).get("executable", "")))
    if not path.name:
        return found, "the trace does not name its executable"
    try:
        return found | function_names(path, set(map(str, linked))), None
    except OSError as error:
        return found, f"{path}: {error.strerror}"
    except Exception as error:  # pyelftools may raise anything for a damaged file
        return found, f"{path}: cannot be read ({error})"


def _about_flag(reasons: dict[str, str], unread: str | None) -> Iterator[str]:
    if reasons:
        names = few([plain(f"{name} ({why})") for name, why in reasons.items()], 5)
        yield f"excluded by the filter only, not by gcc's flag: {names}"
    if unread:
        yield f"gcc's flag may exclude functions that were not called: {plain(unread)}"


def _open(target: str) -> Trace:
    """The archive, or a temporary archive of the local files. Raises VtraceError."""
    import vtrace
    from vtrace.commands.trace_command import opened
    from vtrace.unify.discover.list_files import resolve_prefix
    from vtrace.unify.run import Request, unify

    try:
        return opened(target)
    except VtraceError as error:
        with tempfile.TemporaryDirectory(prefix="vtrace-score-") as where:
            try:
                request = Request(prefix=resolve_prefix(target), name=str(Path(where) / "score"), keep=True)
                unify(request, Console("vtrace", QUIET))
            except VtraceError:
                raise error from None
            trace = vtrace.open(Path(where) / "score.trace")
            trace.prepare("profile")
            _ = trace.ledger, trace.counted_calls  # read the sidecar before the temporary archive goes
            return trace


def _show(found: list[Score], total: int) -> None:
    click.echo(f"at most {total:,} bytes of buffer in any process")
    head = ("bytes", "most per process", "calls", "seconds", "ns per call", "kind", "region")
    cells = [
        (
            f"{s.bytes:,}",
            f"{s.most:,}",
            f"{s.calls:,}",
            f"{s.exclusive / 1e9:.6f}",
            f"{s.each:,.0f}",
            s.kind,
            plain(s.name),
        )
        for s in found
    ]
    widths = [max(len(row[i]) for row in [head, *cells]) for i in range(5)]
    for row in [head, *cells]:
        line = "  ".join(
            [*(cell.rjust(width) for cell, width in zip(row, widths, strict=False)), row[5].ljust(8), row[6]]
        )
        click.echo(line.rstrip())
