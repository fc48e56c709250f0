# SPDX-License-Identifier: BSD-3-Clause
"""How commands talk: results on stdout, all else on stderr in single lines; and how they end."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click

from vtrace.errors import VtraceError

QUIET, NORMAL, VERBOSE, DEBUG = 0, 1, 2, 3
"""Levels of talk, numbered as VT_VERBOSE: errors only; warnings and results; what is done; each file too."""

CLICK_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_LINE_SECONDS = 10.0


def plain(text: str) -> str:
    """text as one line that does nothing to a terminal: names in damaged files may hold anything."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


@dataclass(frozen=True)
class Console:
    """What one command says. name stands before each line on stderr."""

    name: str
    level: int = NORMAL
    progress: bool = False

    def result(self, text: str) -> None:
        """What the command was called for; stdout."""
        if self.level >= NORMAL:
            click.echo(plain(text))

    def warn(self, text: str) -> None:
        """Something that the user should know."""
        if self.level >= NORMAL:
            click.echo(f"{self.name}: warning: {plain(text)}", err=True)

    def note(self, text: str) -> None:
        """Something done or chosen on the user's behalf that is no reason to worry."""
        if self.level >= NORMAL:
            click.echo(f"{self.name}: {plain(text)}", err=True)

    def detail(self, text: str, level: int = VERBOSE) -> None:
        """What is being done, for who asks."""
        if self.level >= level:
            click.echo(f"{self.name}: {plain(text)}", err=True)

    @contextmanager
    def steps(self, label: str, total: int) -> Iterator[Callable[[int], None]]:
        """Yields a function that takes the amount of work just done; together total. Shows a bar on a terminal,
        a line every ten seconds elsewhere, nothing without progress."""
        if not self.progress or self.level < NORMAL:
            yield lambda amount: None
        elif sys.stderr.isatty():
            with _bar(label, total) as advance:
                yield advance
        else:
            yield _lines(self, label, max(total, 1))


@contextmanager
def _bar(label: str, total: int) -> Iterator[Callable[[int], None]]:
    from rich.console import Console as Terminal
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Terminal(stderr=True), transient=True) as progress:
        task = progress.add_task(label, total=total or 1)
        yield lambda amount: progress.advance(task, amount)


def _lines(console: Console, label: str, total: int) -> Callable[[int], None]:
    lock = threading.Lock()
    done, due = 0, time.monotonic() + _LINE_SECONDS

    def advance(amount: int) -> None:
        nonlocal done, due
        with lock:
            done += amount
            if time.monotonic() >= due or done >= total:
                due = time.monotonic() + _LINE_SECONDS
                console.note(f"{label}: {100 * done // total} %")

    return advance


def environment_level(name: str) -> int:
    """The level that VT_VERBOSE asks for; a bad value is told on stderr and NORMAL used."""
    text = os.environ.get("VT_VERBOSE", "").strip()
    if not text:
        return NORMAL
    if not text.isdigit():
        click.echo(f"{name}: warning: VT_VERBOSE={text} is not a whole number: {NORMAL} is used", err=True)
        return NORMAL
    return min(int(text), DEBUG)


def run(command: click.Command, name: str) -> int:
    """Runs a click command on sys.argv and returns its exit code. The only place that catches VtraceError."""
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
        return _failed(name, f"invalid option -- {error.option_name}", _help_hint(error, name), 2)
    except click.UsageError as error:
        return _failed(name, error.format_message().rstrip("."), _help_hint(error, name), 2)
    except click.ClickException as error:
        return _failed(name, error.format_message(), None, error.exit_code)
    except VtraceError as error:
        message = error.args[0] if error.args else str(error)
        return _failed(name, str(message), error.hint, error.exit_code)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _failed(name, f"{place}{error.strerror or error}", None, 1)
    return code if isinstance(code, int) else 0


def _failed(name: str, message: str, hint: str | None, code: int) -> int:
    text = message if not hint else f"{message} ({hint})"
    click.echo(f"{name}: error: {plain(' '.join(text.split()))}", err=True)
    return code


def _help_hint(error: click.UsageError, name: str) -> str:
    if isinstance(error, click.NoSuchOption) and error.possibilities:
        return f"did you mean {' or '.join(sorted(error.possibilities))}?"
    return f"{error.ctx.command_path if error.ctx else name} --help shows all"


def _interrupted(name: str) -> int:
    click.echo(f"{name}: interrupted", err=True)
    if threading.active_count() > 1:  # threads inside the kernel would be waited for at a normal exit
        sys.stdout.flush()
        os._exit(130)
    return 130
