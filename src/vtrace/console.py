# SPDX-License-Identifier: BSD-3-Clause
"""Output of commands: results on standard output, messages on standard error, a line each; progress; exit codes."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
"""Seconds after which an interrupt is repeated that was lost in a callback."""
_BAR_DELAY = 2.0
"""Seconds until a terminal shows a bar without --progress."""


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
    """The first file names in alphabetical order, and how many more there are."""
    return few(sorted(path.name for path in paths))


@dataclass(frozen=True)
class Console:
    """The messages of one command. name: begins each line on stderr; level: of VT_VERBOSE; progress: show progress
    from the start."""

    name: str
    level: int = NORMAL
    progress: bool = False

    def result(self, text: str) -> None:
        """Prints a result on stdout."""
        if self.level >= NORMAL:
            click.echo(plain(text))

    def warn(self, text: str) -> None:
        """Prints a warning on stderr."""
        if self.level >= NORMAL:
            click.echo(f"{self.name}: warning: {plain(text)}", err=True)

    def note(self, text: str) -> None:
        """Prints a message on stderr that is not a warning."""
        if self.level >= NORMAL:
            click.echo(f"{self.name}: {plain(text)}", err=True)

    def detail(self, text: str, level: int = VERBOSE) -> None:
        """Prints a message on stderr, from this level of VT_VERBOSE on."""
        if self.level >= level:
            click.echo(f"{self.name}: {plain(text)}", err=True)

    @contextmanager
    def steps(self, label: str, total: int, unit: str = "steps") -> Iterator[Callable[[int], None]]:
        """Shows the progress of long work: as a bar on a terminal, else in a line from time to time.

        Yields a function to call with the amount of work done since its last call; total: the sum of all amounts."""
        if self.level < NORMAL:
            yield lambda amount: None
        elif sys.stderr.isatty():
            with _Bar(label, total, unit, 0 if self.progress else _BAR_DELAY) as bar:
                yield bar.advance
        else:
            yield _lines(self, label, max(total, 1), unit)


class _Bar:
    """A bar with rate and remaining time. Appears after delay seconds, disappears when the work is done."""

    def __init__(self, label: str, total: int, unit: str, delay: float) -> None:
        self._label, self._total, self._unit = label, max(total, 1), unit
        self._begin = time.monotonic()
        self._due = self._begin + delay
        self._done = 0
        self._progress: Any = None

    def __enter__(self) -> _Bar:
        self.advance(0)
        return self

    def advance(self, amount: int) -> None:
        """Adds amount to the work done."""
        self._done += amount
        if self._progress is None and time.monotonic() >= self._due:
            self._start()
        if self._progress is not None:
            speed = _rate(self._done, time.monotonic() - self._begin, self._unit)
            self._progress.update(self._task, completed=self._done, speed=speed)

    def _start(self) -> None:
        from rich.console import Console as Terminal
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        words, speed = TextColumn("{task.description}"), TextColumn("{task.fields[speed]}")
        columns = (words, BarColumn(), TaskProgressColumn(), speed, TimeRemainingColumn())
        self._progress = Progress(*columns, console=Terminal(stderr=True), transient=True)
        self._task = self._progress.add_task(self._label, total=self._total, speed="")
        self._progress.start()

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()


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
            text = f"{label}: {100 * done // total} %, {_rate(done, now - begin, unit)}"
            left = (now - begin) * (total - done) / done if done else 0
            console.note(text if last or not done else f"{text}, {left:.0f} s left")

    return advance


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
        click.echo(f"{name}: error: {plain(' '.join(text.split()))}", err=True)
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
