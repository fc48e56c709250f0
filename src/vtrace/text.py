# SPDX-License-Identifier: BSD-3-Clause
"""Escapes text from traces, file names and programs for output; hints with names like a misspelt one.

This module imports nothing at its start: compiler wrappers and `vtrace run` use this module, too."""

from __future__ import annotations

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the cost of importing typing
if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from typing import Any


def plain(text: str) -> str:
    """text as one printable line. Names, in damaged files above all, may contain control sequences of terminals."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def json_text(value: Any, **options: Any) -> str:
    """value as JSON without control characters; json.dumps would keep DEL. options: arguments of json.dumps."""
    import json

    return json.dumps(value, **options).replace("\x7f", "\\u007f")


def html_text(text: str) -> str:
    """text as the content of an HTML element or of a quoted attribute."""
    from html import escape

    return escape(plain(text))


def shell_quoted(word: str) -> str:
    """word as a shell reads it. Control characters and bytes that are not UTF-8 in the form of bash, $'\\n'."""
    import os
    import shlex

    if word.isprintable():
        return shlex.quote(word)
    special = {"'": "\\'", "\\": "\\\\"}
    parts = (special.get(c, c) if c.isprintable() else "".join(f"\\{b:03o}" for b in os.fsencode(c)) for c in word)
    return f"$'{''.join(parts)}'"


def shell_command(words: Iterable[str]) -> str:
    """The words of a command as a user would type them."""
    return " ".join(map(shell_quoted, words))


def shell_path(path: str | Path) -> str:
    """A path as a word of a command, which is not an option."""
    word = str(path)
    return shell_quoted(f"./{word}" if word.startswith("-") else word)


def shell_word(path: Path) -> str:
    """A path as a user would type the path in a shell: relative if below the current directory, and quoted."""
    import os

    try:
        near = os.path.relpath(path)
    except (ValueError, OSError):  # OSError: the current directory does not exist
        near = ".."
    return shell_path(path if near.startswith("..") else near)


def near(name: str, names: Iterable[str]) -> str | None:
    """A hint with names like an unknown one."""
    import difflib  # rarely needed, and slow to load

    close = difflib.get_close_matches(name, [*names], 3)
    return f"did you mean {' or '.join(close)}?" if close else None
