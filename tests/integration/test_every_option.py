# SPDX-License-Identifier: BSD-3-Clause
"""Every command that reads traces, with each of its options, in a separate process, on archives of every kind.

The commands themselves list their options, so the test includes a new option. Only an option with a new kind of value
needs an entry in VALUES."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from support.build.builder import Builder
from support.build.kinds import KINDS, Kind
from support.build.run import vtrace
from support.tools import Done
from vtrace import cli

LOCAL = ("info", "score", "dump")
"""Commands that also read local files before unifying."""
OTHERS = ("clean", "dump", "view", "import", "pack", "unpack")
"""Commands that find files by the name of an archive, but read no archive (clean, dump, pack) or serve it (view), or
need other files, too (import), or read packed archives only (unpack: test_packed.py)."""


def archives_of(name: str) -> int:
    """The number of archives that a command takes."""
    command = cli.command.get_command(click.Context(cli.command), name)
    assert command is not None
    arguments = [option for option in command.params if isinstance(option, click.Argument)]
    return sum(max(0, argument.nargs) for argument in arguments if argument.name in ("archive", "target"))


COMMANDS = [
    name for name in cli.command.list_commands(click.Context(cli.command)) if archives_of(name) and name not in OTHERS
]
VALUES = {
    "begin": ("25%", "1ns"), "end": ("75%", "0.5us"), "ranks": ("0",), "top": ("2",), "most": ("1000",), "fit": ("1K",),
    "rows": ("2",), "depth": ("1",), "hash_size": ("7",), "threshold": ("10",), "location": ("0",), "output": ("out",),
    "directory": (".",), "executable": ("/bin/sh",),
    "targets": ("perfetto", "chrome", "speedscope", "csv", "parquet", "vtune"),
    "only": ("REGION",), "chosen": ("region=*", "class=user,MPI", "path=*", "location=*"), "file": ("missing.c",),
    "fail_above": ("5%",), "keep": ("solve",), "map_file": ("names.json",), "metrics": ("page-faults",),
    "events": ("missing.events",),
}  # fmt: skip
FREE = {
    ("export", "output"): ("--to", "csv"), ("score", "output"): ("--fit", "1K"),
    ("diff", "chosen"): ("--fail-above", "5%"),
    ("cut", "output"): ("--force",), ("anonymise", "output"): ("--force",),
}  # fmt: skip
"""Options that need another option."""
MAY_REFUSE = ("mpip", "score")
"""Commands that refuse a trace without MPI calls, or without all calls."""
PART = {"--rank", "--ranks", "--from", "--to", "--source", "--metrics", "--events", "vtune"}
"""Options for parts that a trace may not have: --to vtune needs its real time."""
WITHOUT_TIME = ("empty", "one-event", "scorep-sampling")
"""Kinds of archives in which no call takes time: --fail-above returns 1."""
SAMPLE = ("markers",)
"""The kind of archive that is always tested; `full` tests all kinds."""


def lines(name: str) -> Iterator[tuple[str, ...]]:
    """The options of each command line: none, then each option alone."""
    command = cli.command.get_command(click.Context(cli.command), name)
    assert command is not None
    always: tuple[str, ...] = {
        "export": ("--to", "csv"), "cut": ("-o", "out", "--force"), "anonymise": ("-o", "out", "--force"),
    }.get(name, ())  # fmt: skip
    yield always
    for option in (option for option in command.params if isinstance(option, click.Option)):
        if option.is_flag:
            for word in (*option.opts[-1:], *option.secondary_opts):
                yield (word, *always)
            continue
        choices = VALUES.get(str(option.name)) or getattr(option.type, "choices", None)
        assert choices, f"vtrace {name} {option.opts[-1]} needs a value in VALUES"
        more = FREE.get((name, str(option.name)), () if option.name == "targets" else always)
        yield from ((*more, option.opts[-1], value) for value in choices)


def judge(done: Done) -> None:
    """Checks that a command succeeds, with valid JSON for --json, or prints an error message and nothing else."""
    assert "Traceback" not in done.stdout + done.stderr, str(done)
    if done.returncode == 0:
        assert "--json" not in done.words or done.words[1] == "dump" or json.loads(done.stdout) is not None, str(done)
        return
    assert done.returncode in (1, 2), str(done)
    assert done.stdout == "" or "--fail-above" in done.words, str(done)  # a verdict comes after its numbers
    assert done.stderr.splitlines()[-1].startswith("vtrace: error: "), str(done)


@pytest.mark.parametrize("name", [pytest.param(k, marks=() if k in SAMPLE else pytest.mark.full) for k in KINDS])
def test_options(build: Builder, tmp_path: Path, name: str) -> None:
    (tmp_path / "kind").mkdir()
    kind: Kind = KINDS[name](build, tmp_path / "kind")
    tried = 0
    for command in COMMANDS:
        for words in lines(command):
            done = vtrace(tmp_path, command, *words, *[kind.archive] * archives_of(command), check=False)
            judge(done)
            has_nothing_to_judge = "--fail-above" in words and name in WITHOUT_TIME
            assert done.returncode == 0 or command in MAY_REFUSE or PART & set(words) or has_nothing_to_judge, str(done)
            tried += 1
    for command in LOCAL if kind.local else ():
        for words in lines(command):
            judge(vtrace(kind.archive.parent, command, *words, kind.archive.stem, check=False))
            tried += 1
    assert tried >= 60
