# SPDX-License-Identifier: BSD-3-Clause
"""Text that comes from a trace, a file's name or a program: how it is printed, so that it stays text.

This module loads nothing: compilers' wrappers and `vtrace run` use it, too."""

from __future__ import annotations

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without what loading typing costs
if TYPE_CHECKING:
    from typing import Any


def plain(text: str) -> str:
    """text as one line that does nothing to a terminal: names in damaged files may hold anything."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def json_text(value: Any, **options: Any) -> str:
    """value as JSON without control characters, of which json.dumps leaves DEL. options: those of json.dumps."""
    import json

    return json.dumps(value, **options).replace("\x7f", "\\u007f")


def html_text(text: str) -> str:
    """text as content of an HTML element or of a quoted attribute."""
    from html import escape

    return escape(plain(text))
