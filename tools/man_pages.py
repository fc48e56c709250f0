# SPDX-License-Identifier: BSD-3-Clause
"""Writes the man pages of all commands from their help texts. The build calls this script:
man_pages.py PACKAGE_PARENT LIBRARIES OUT."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click


class _Roff(click.HelpFormatter):
    """Writes the parts of a help text as roff. Every command writes its help through a formatter, so that a page has
    also the parts that a command adds to click's."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        self.parts += [".SH SYNOPSIS", f".B {_escaped(prog)}", _escaped(args), ".SH DESCRIPTION"]

    def write_heading(self, heading: str) -> None:
        self.parts.append(f".SH {_escaped(heading.upper())}")

    def write_paragraph(self) -> None:
        """The parts begin with a macro that separates them."""

    def write_text(self, text: str) -> None:
        for paragraph in re.split(r"\n{2,}", text.strip("\n")):
            is_layout, _, layout = paragraph.partition("\n")
            if is_layout.strip() == "\b":
                self.parts += _verbatim(layout)
            else:
                separator = [] if self.parts[-1].startswith(".SH") else [".PP"]
                self.parts += [*separator, _escaped(" ".join(paragraph.split()))]

    def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        for term, meaning in rows:
            breakable = _escaped(term.strip()).replace("|", r"|\:")  # a narrow terminal may break lists of choices
            self.parts += [".TP", f".B {breakable}", _escaped(" ".join(meaning.split()))]


def _escaped(text: str) -> str:
    """Text as roff shows it: quotes, hyphens and backslashes as typed in a shell, and no line that is a request."""
    for plain, roff in (("\\", r"\e"), ("-", r"\-"), ("`", r"\(ga"), ("'", r"\(aq"), ("^", r"\(ha"), ("~", r"\(ti")):
        text = text.replace(plain, roff)
    return re.sub(r"^\.", r"\&.", text, flags=re.MULTILINE)


def _verbatim(text: str) -> list[str]:
    """Lines in the layout of the source; a first line such as "Examples:" becomes a heading."""
    first, _, rest = text.partition("\n")
    heading = [".PP"]
    if re.fullmatch(r"[A-Z][a-z ]*:", first):
        heading, text = [f".SH {first[:-1].upper()}"], rest
    return [*heading, ".nf", *(_escaped(line) or ".sp" for line in text.split("\n")), ".fi"]


def _page(name: str, does: str, body: Sequence[str], others: Sequence[str], version: str) -> str:
    """A page. does: the command's task, in a line; others: the pages to see also."""
    references = [f".BR {_escaped(other)} (1)" + ("," if other != others[-1] else "") for other in others]
    lines = [
        f'.TH {_escaped(name.upper())} 1 "" "vtrace {version}" "vtrace"',
        ".ad l",
        ".nh",
        ".SH NAME",
        f"{_escaped(name)} \\- {_escaped(does.rstrip('.'))}",
        *body,
        ".SH SEE ALSO",
        *(line.replace(" (1),", " (1), ") for line in references),
    ]
    return "\n".join(line.rstrip() for line in lines if line.strip()) + "\n"


def _contexts(command: click.Command, name: str, parent: click.Context | None = None) -> Iterator[click.Context]:
    """The context of a command, and those of all its sub-commands; sub-commands inherit settings such as -h."""
    context = command.make_context(name, ["--help"], parent, resilient_parsing=True)
    yield context
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            if found is not None:
                yield from _contexts(found, inner, context)


def pages(build: Path) -> Iterator[tuple[str, str]]:
    """Name and text of each page. build: the directory of libvtrace-transcode.so, whose tables the help of some
    commands shows."""
    from vtrace import __version__, paths

    paths.LIB = build
    from vtrace import cli
    from vtrace.commands import vtunify, vtunify_mpi
    from vtrace.wrappers.compile import options

    entries = {"vtrace": cli.command, "vtunify": vtunify.command, "vtunify-mpi": vtunify_mpi.command}
    found = [
        (context, context.command_path.replace(" ", "-"))
        for name, command in entries.items()
        for context in _contexts(command, name)
    ]
    wrappers = (options.C, options.CXX, options.FORTRAN)
    names = [name for _, name in found] + [language.wrapper for language in wrappers]
    for context, name in found:
        formatter = _Roff()
        context.command.format_help(context, formatter)
        inner = [other for other in names if other.startswith(f"{name}-") and isinstance(context.command, click.Group)]
        others = [*inner, *(other for other in ("vtrace", "vtunify", "vtrace-cc") if other not in (name, *inner))]
        yield name, _page(name, context.command.get_short_help_str(200), formatter.parts, others, __version__)
    for language in wrappers:
        others = ["vtrace", *(other.wrapper for other in wrappers if other != language)]
        does = f"compile and link like the {language.name} compiler, for recording"
        usage, _, text = options.help_text(language).strip("\n").partition("\n\n")
        body = [".SH SYNOPSIS", _escaped(usage.removeprefix("usage: ")), ".SH DESCRIPTION", *_verbatim(text)[1:]]
        yield language.wrapper, _page(language.wrapper, does, body, others, __version__)


def main(package_parent: str, libraries: str, out: str) -> None:
    """Writes the pages to the directory out."""
    sys.path.insert(0, package_parent)
    os.makedirs(out, exist_ok=True)
    for name, text in pages(Path(libraries)):
        Path(out, f"{name}.1").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
