# SPDX-License-Identifier: BSD-3-Clause
"""Help: Show a page of the documentation in the terminal."""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import Path

import click

from vtrace.console import CLICK_SETTINGS, terminal_width
from vtrace.errors import UsageError
from vtrace.paths import DOCS
from vtrace.reports.generated_tables import filled
from vtrace.reports.terminal_page import formatted

_EXAMPLES = """\b
Examples:
  vtrace help                   lists the pages
  vtrace help sampling
  vtrace help settings | less
  vtrace help settings VT_MAX   only the paragraphs and rows that contain the words
"""


def _topics(_: object, __: object, begin: str) -> list[str]:
    return [name for name in _pages() if name.startswith(begin)]


@click.command(epilog=_EXAMPLES, context_settings=CLICK_SETTINGS)
@click.argument("topic", required=False, shell_complete=_topics)
@click.argument("words", nargs=-1)
def command(topic: str | None, words: tuple[str, ...]) -> None:
    """Without TOPIC, lists all pages. With WORDS, shows the parts of the page that contain all of them.
    `vtrace COMMAND --help` shows the options of a command.
    """
    pages = _pages()
    if topic is None:
        click.echo("\n".join(f"{name:20} {_title(path.read_text())}" for name, path in pages.items()))
        return
    name = topic.removesuffix(".md")
    if name not in pages:
        near = get_close_matches(name, pages, 1)
        hint = f"did you mean {near[0]}?" if near else "vtrace help lists the pages"
        raise UsageError(f"no page {topic}", hint)
    text = filled(pages[name].read_text())
    if words and not (text := _parts(text, words)):
        raise UsageError(f"no part of {name} contains {' and '.join(words)}", f"vtrace help {name} shows all of it")
    _show(text)


def _pages() -> dict[str, Path]:
    return {path.stem: path for path in sorted(DOCS.glob("*.md"), key=lambda path: path.stem)}


def _title(text: str) -> str:
    return text.split("\n", 1)[0].lstrip("# ")


def _parts(text: str, words: tuple[str, ...]) -> str:
    """The paragraphs with all of the words, below their headings; a table keeps only the rows with the words."""
    wanted = [word.casefold() for word in words]
    found: list[str] = []
    heading = ""
    for part in re.split(r"\n{2,}", text):
        if part.startswith("#"):
            heading = part
        kept = part
        if part.startswith("|"):
            head, body = part.split("\n")[:2], part.split("\n")[2:]
            kept = "\n".join([*head, *(row for row in body if all(word in row.casefold() for word in wanted))])
            if kept == "\n".join(head):
                continue
        if all(word in kept.casefold() for word in wanted):
            found += [heading] if heading and kept != heading else []
            found.append(kept)
            heading = ""
    return "\n\n".join(found)


def _show(text: str) -> None:
    """Prints Markdown: formatted on a terminal, else unchanged."""
    width = terminal_width()
    click.echo(formatted(text, width) if width else text.removesuffix("\n"))
