# SPDX-License-Identifier: BSD-3-Clause
"""Output of commands: results on standard output, messages on standard error, a line each; progress; exit codes."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import click

from vtrace import settings_file
from vtrace.errors import VtraceError
from vtrace.text import plain

QUIET, NORMAL, VERBOSE, DEBUG = 0, 1, 2, 3
"""Values of VT_VERBOSE: errors only; warnings and results; also each step; also each file."""

CLICK_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_LINE_SECONDS, _BATCH_SECONDS = 10.0, 60.0
"""Seconds between two lines of progress: with --progress, and without."""
_LATER = 0.001
"""Seconds until an interrupt that was lost in a callback is repeated."""
_BAR_DELAY, _REDRAWN = 1.0, 0.1
"""Seconds until a terminal shows a bar without --progress, and between two drawings of a bar."""
_BAR = 20
"""Width of a bar in characters."""
_NO_SIZE = 80
"""The width of a terminal that does not state its width."""
_NEXT, _GLUE = "next: ", "\0"
_COMMAND = re.compile(r"(\w+=\S+ )*(vtrace|vtunify|sudo|mpiexec)\b.*?(?=   |; |$)")
_ERASE = "\r\x1b[K"
"""Erases the terminal's line and moves the cursor to its start."""


_WIDE = "vtrace.wide"
"""The key of --wide in click's context."""


def wide_option() -> click.Option:
    """The option --wide: terminal_width is unknown then, so that nothing is shortened."""

    def keep(context: click.Context, _: click.Parameter, value: bool) -> None:
        context.meta[_WIDE] = value

    return click.Option(
        ["--wide"], is_flag=True, expose_value=False, callback=keep,
        help="On a terminal, show names whole and each row on one line.",
    )  # fmt: skip


def terminal_width(stream: TextIO | None = None) -> int | None:
    """The columns of the terminal that a stream is, standard output by default; None for a pipe or a file, and with
    --wide."""
    stream, context = stream or sys.stdout, click.get_current_context(silent=True)
    if not stream.isatty() or (context and context.meta.get(_WIDE)):
        return None
    known = os.environ.get("COLUMNS", "")
    if known.isdecimal() and int(known):
        return int(known)
    with suppress(OSError, ValueError):
        return os.get_terminal_size(stream.fileno()).columns or _NO_SIZE
    return _NO_SIZE


def fold(text: str, first: str = "", below: str = "", *, width: int | None) -> str:
    """Text in lines of a width; None: one line. Words, such as paths and names, stay whole, and so do commands behind
    "next: ", which users copy. first, below: before the first line and before the others."""
    if width is None:
        return first + text
    begin, following, steps = text.partition(_NEXT)
    text = begin + following + _COMMAND.sub(lambda found: found[0].replace(" ", _GLUE), steps)
    lines = textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=below, break_on_hyphens=False, break_long_words=False
    )
    return "\n".join(lines).replace(_GLUE, " ")


def say(text: str, first: str = "", below: str | None = None) -> None:
    """Prints one line of text from traces on standard output; on a terminal in lines of its width."""
    click.echo(fold(plain(text), first, first if below is None else below, width=terminal_width()).rstrip(" "))


def bold(text: str) -> str:
    """Text in bold for a terminal, if the terminal has control sequences."""
    return click.style(text, bold=True) if _has_control() else text


def _has_control() -> bool:
    return os.environ.get("TERM", "dumb") != "dumb"


def ranges(numbers: Iterable[int]) -> str:
    """Numbers as text, such as 0,2-5,9."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def some(number: int, one: str, many: str | None = None) -> str:
    """A number with a noun in singular or plural: 1 process, 2 processes."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def few(words: Sequence[str], shown: int = 4) -> str:
    """The first words, and the number of further words: "a, b and 3 more"."""
    more = f" and {len(words) - shown:,} more" if len(words) > shown else ""
    return ", ".join(words[:shown]) + more


def few_names(paths: Iterable[Path]) -> str:
    """The first file names in alphabetical order, and the number of further names."""
    return few(sorted(path.name for path in paths))


@dataclass(frozen=True)
class Console:
    """The messages of one command. name: begins each line on stderr; level: of VT_VERBOSE; progress: show progress
    from the start."""

    name: str
    level: int = NORMAL
    progress: bool = False

    def result(self, text: str) -> None:
        """Prints a result on stdout. If this fails the work goes on, and the command's exit code is 1 (run)."""
        if self.level >= NORMAL:
            try:
                say(text, below="  ")
            except OSError as error:
                _unwritten.append(error)

    def warn(self, text: str) -> None:
        """Prints a warning on stderr."""
        if self.level >= NORMAL:
            self._say(f"warning: {text}")

    def note(self, text: str) -> None:
        """Prints a message on stderr that is not a warning."""
        if self.level >= NORMAL:
            self._say(text)

    def detail(self, text: str, level: int = VERBOSE) -> None:
        """Prints a message on stderr, from this level of VT_VERBOSE on."""
        if self.level >= level:
            self._say(text)

    def _say(self, text: str) -> None:
        told = fold(plain(text), f"{self.name}: ", "  ", width=terminal_width(sys.stderr))
        click.echo(f"{_ERASE if _drawn else ''}{told}", err=True)

    @property
    def shows_bars(self) -> bool:
        """True if steps draws a bar for work that takes long, and none is drawn already."""
        return self.level >= NORMAL and sys.stderr.isatty() and _has_control() and not _drawn

    @contextmanager
    def steps(self, label: str, total: int, unit: str = "steps") -> Iterator[Callable[[int], None]]:
        """Shows the progress of long work: as a bar on a terminal, else in a line from time to time.

        Yields a function to call with the amount of work done since its last call; total: the sum of all amounts."""
        if self.level < NORMAL:
            yield lambda amount: None
        elif sys.stderr.isatty() and _has_control():
            with _Bar(label, total, unit, 0 if self.progress else _BAR_DELAY) as bar:
                yield bar.advance
        else:
            yield _lines(self, label, max(total, 1), unit)


class _Bar:
    """A bar with rate and remaining time. Appears after delay seconds, disappears when the work is done."""

    def __init__(self, label: str, total: int, unit: str, delay: float) -> None:
        self._label, self._total, self._unit = label, max(total, 1), unit
        self._lock = threading.Lock()
        self._begin = time.monotonic()
        self._due = self._begin + delay
        self._done = 0

    def __enter__(self) -> _Bar:
        self.advance(0)
        return self

    def advance(self, amount: int) -> None:
        """Adds amount to the work done."""
        with self._lock:
            self._done += amount
            now = time.monotonic()
            if now < self._due:
                return
            self._due = now + _REDRAWN
            share = min(self._done / self._total, 1)
            bar = f"[{'#' * int(_BAR * share):{_BAR}}]"
            text = f"{plain(self._label)} {bar} {_state(self._done, self._total, self._unit, now - self._begin)}"
            _drawn.add(self)
            click.echo(f"{_ERASE}{text[: shutil.get_terminal_size().columns - 1]}", nl=False, err=True)

    def __exit__(self, *_: object) -> None:
        if self in _drawn:
            _drawn.remove(self)
            click.echo(_ERASE, nl=False, err=True)


_drawn: set[_Bar] = set()
"""The bars on the terminal: messages overwrite them."""


_unwritten: list[OSError] = []
"""Why results could not be written."""


def _lines(console: Console, label: str, total: int, unit: str) -> Callable[[int], None]:
    lock = threading.Lock()
    seconds = _LINE_SECONDS if console.progress else _BATCH_SECONDS
    begin = time.monotonic()
    done, due = 0, begin + seconds

    def advance(amount: int) -> None:
        nonlocal done, due
        with lock:
            done += amount
            now = time.monotonic()
            last = console.progress and amount > 0 and done >= total
            if now < due and not last:
                return
            due = now + seconds
            console.note(f"{label}: {_state(done, total, unit, now - begin)}")

    return advance


def _state(done: int, total: int, unit: str, seconds: float) -> str:
    """Share, rate and remaining time of work that has taken this many seconds."""
    text = f"{100 * done // total} %, {_rate(done, seconds, unit)}"
    return f"{text}, {seconds * (total - done) / done:.0f} s left" if 0 < done < total else text


def _rate(done: int, seconds: float, unit: str) -> str:
    rate = done / max(seconds, 1e-9)
    return f"{rate / 1e6:.1f} MB/s" if unit == "bytes" else f"{rate:.0f} {unit}/s"


def environment_level(name: str) -> int:
    """The value of VT_VERBOSE; for a wrong value NORMAL, with a warning. name: begins the warning."""
    text = os.environ.get("VT_VERBOSE", "").strip()
    if not text:
        return NORMAL
    if not text.isdigit():
        click.echo(f"{name}: warning: VT_VERBOSE={plain(text)} is not a whole number: {NORMAL} is used", err=True)
        return NORMAL
    return min(int(text), DEBUG)


def vtrace_console() -> Console:
    """The console of the subcommands of vtrace, with the level of VT_VERBOSE."""
    return Console("vtrace", environment_level("vtrace"))


def catch_in_callbacks(act: Callable[[KeyboardInterrupt], object]) -> None:
    """Calls act after an interrupt in a function that C code has called, from where it cannot reach the command."""

    def hook(unraisable: Any) -> None:
        if isinstance(unraisable.exc_value, KeyboardInterrupt):
            act(unraisable.exc_value)
        else:
            sys.__unraisablehook__(unraisable)

    sys.unraisablehook = hook


def _interrupt_again(_: KeyboardInterrupt) -> None:
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, _LATER)


def run(command: click.Command, name: str, speaks: bool = True) -> int:
    """Runs a click command on sys.argv and returns its exit code. Only this function catches VtraceError.

    speaks: print errors; False if another process prints the same error.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # the locale's encoding may lack letters of names
            stream.reconfigure(errors="backslashreplace")
    catch_in_callbacks(_interrupt_again)
    settings_file.apply(os.environ)
    try:
        code = command.main(prog_name=name, standalone_mode=False)
        for error in _unwritten:
            raise error
        sys.stdout.flush()
    except (click.Abort, KeyboardInterrupt):
        return _interrupted(name)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.NoSuchOption as error:
        return _failed(
            name if speaks else None, f"invalid option -- {error.option_name}", _help_hint(error, command, name), 2
        )
    except click.UsageError as error:
        return _failed(
            name if speaks else None, error.format_message().rstrip("."), _help_hint(error, command, name), 2
        )
    except click.ClickException as error:
        return _failed(name if speaks else None, error.format_message(), None, error.exit_code)
    except VtraceError as error:
        message = error.args[0] if error.args else str(error)
        return _failed(name if speaks else None, str(message), error.hint, error.exit_code)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _failed(name if speaks else None, f"{place}{error.strerror or error}", None, 1)
    return code if isinstance(code, int) else 0


def _failed(name: str | None, message: str, hint: str | None, code: int) -> int:
    text = message if not hint else f"{message} ({hint})"
    if name is not None:
        told = fold(plain(" ".join(text.split())), f"{name}: error: ", "  ", width=terminal_width(sys.stderr))
        click.echo(told, err=True)
    return code


def _help_hint(error: click.UsageError, command: click.Command, name: str) -> str:
    if isinstance(error, click.NoSuchOption) and error.possibilities:
        return f"did you mean {' or '.join(sorted(error.possibilities))}?"
    if error.ctx:
        name = error.ctx.command_path
    elif isinstance(
        command, click.Group
    ):  # without error.ctx, as for an option without value, click does not name the command
        name = " ".join([name, *(word for word in sys.argv[1:2] if not word.startswith("-"))])
    return f"see {name} --help"


def _interrupted(name: str) -> int:
    click.echo(f"{name}: interrupted", err=True)
    if threading.active_count() > 1:  # a normal exit would wait for threads in C code
        sys.stdout.flush()
        os._exit(130)
    return 130
