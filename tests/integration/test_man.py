# SPDX-License-Identifier: BSD-3-Clause
"""The man pages of all commands, as the installed man shows them from a virtual environment."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import click
import pytest

from support.tools import BIN, ROOT, call, command, need, unavailable
from vtrace import cli
from vtrace.commands import vtunify, vtunify_mpi

WRAPPERS = ("vtrace-cc", "vtrace-cxx", "vtrace-fc")


def commands(found: click.Command, *words: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """A command and its sub-commands, each with the words that call it."""
    yield words, found
    if isinstance(found, click.Group):
        for name in found.list_commands(click.Context(found)):
            inner = found.get_command(click.Context(found), name)
            assert inner is not None
            yield from commands(inner, *words, name)


COMMANDS = {
    "-".join(words): (words, found)
    for name, top in (("vtrace", cli.command), ("vtunify", vtunify.command), ("vtunify-mpi", vtunify_mpi.command))
    for words, found in commands(top, name)
}


def shown(name: str, here: Path, width: int = 160) -> str:
    """The page that `man NAME` shows in a terminal of this width; groff's warnings are errors."""
    if not (Path(sys.prefix) / "share" / "man" / "man1" / "vtrace.1").exists():
        unavailable("vtrace is not installed from a wheel, which brings the man pages")
    done = call(["env", "-u", "MANPATH", need("man"), "--warnings=w", name], here, {"MANWIDTH": str(width)})
    assert done.stderr == ""
    return done.stdout


def test_narrow(tmp_path: Path) -> None:
    """A list of choices that is longer than a line is broken between two choices."""
    page = shown("vtrace-summary", tmp_path, 80)
    assert "[classes|samples|" in page
    assert "heap|counters|coverage]" in re.sub(r"\n +", "", page)


@pytest.mark.parametrize("name", COMMANDS)
def test_page_of_a_command(name: str, tmp_path: Path) -> None:
    """The page has each option, each argument, and each example of the help as typed."""
    words, found = COMMANDS[name]
    page = shown(name, tmp_path)
    help_lines = call([*command(words[0]), *words[1:], "--help"], tmp_path).stdout.splitlines()
    assert re.search(rf"^NAME\n +{name} - \w", page, re.MULTILINE)
    assert f"{' '.join(words)} {help_lines[0].split()[len(words) + 1]}" in page
    options = [param for param in found.params if isinstance(param, click.Option) and not param.hidden]
    spellings = {spelling for option in options for spelling in (*option.opts, *option.secondary_opts)}
    shown_first = [re.match(r"  (-[\w-]+)", line) for line in help_lines]
    spellings |= {first[1] for first in shown_first if first}
    for spelling in sorted(spellings):
        assert re.search(rf"^ {{7}}(-.*[ ,])?{spelling}(?![\w-])", page, re.MULTILINE), spelling
    plain = {" ".join(line.split()) for line in page.splitlines()}
    at = next((number for number, line in enumerate(help_lines) if line == "  Examples:"), len(help_lines))
    examples = [" ".join(line.split()) for line in takewhile(str.strip, help_lines[at + 1 :])]
    assert not [line for line in examples if line not in plain]


@pytest.mark.parametrize("name", WRAPPERS)
def test_page_of_a_wrapper(name: str, tmp_path: Path) -> None:
    """The page has every line of the wrapper's help."""
    lines = [" ".join(line.split()) for line in call([*command(name), "-vt:help"], tmp_path).stdout.splitlines()]
    page = {" ".join(line.split()) for line in shown(name, tmp_path).splitlines()}
    assert len(lines) > 30
    assert not [line for line in lines if line.removeprefix("usage: ") not in page]


def test_every_command_has_a_page() -> None:
    """The wheel has pages of all its commands, and no page is committed."""
    installed = {path.stem for path in (Path(sys.prefix) / "share" / "man" / "man1").glob("vt*.1")}
    if not installed:
        unavailable("vtrace is not installed from a wheel, which brings the man pages")
    assert installed == {*COMMANDS, *WRAPPERS}
    assert {path.name for path in BIN.glob("vt*")} <= {*installed, "vtrace-python"}  # Python, not a command of vtrace
    assert not [*ROOT.glob("src/**/*.1"), *ROOT.glob("docs/**/*.1"), *ROOT.glob("tools/**/*.1")]
