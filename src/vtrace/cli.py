# SPDX-License-Identifier: BSD-3-Clause
"""The command vtrace. Its sub-commands are the modules of vtrace.commands whose docstring begins with a group, such as
"Share: Convert a trace ...". A module is imported only when its command runs."""

from __future__ import annotations

import inspect
import re
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path

import click

from vtrace import __version__, console, paths
from vtrace.errors import UsageError

_FOLDER = Path(__file__).parent / "commands"
_GROUPS = ("Prepare", "After the run", "Understand", "Share", "Help")
"""The groups of the list of commands."""
_ORDER = (
    "demo run doctor settings counters filter score shim dump clean jobs summary view profile diagnose diff mpip "
    "timers report export import cut info help compat completion"
).split()
"""The commands in the order of use; others follow in the alphabet's."""
_DOCSTRING = re.compile(rf'\n"""({"|".join(_GROUPS)}): (.*?)(?:"""|\n)')


def _first_line(name: str) -> tuple[str, str] | None:
    """The group of a command and what the command does, from the docstring of its module, None if the module is not a
    command. Reads the file, since importing most modules loads numpy."""
    if not name.isidentifier():
        return None
    try:
        found = _DOCSTRING.search((_FOLDER / f"{name}.py").read_text())
    except OSError:
        return None
    return (found[1], found[2]) if found else None


@cache
def _commands() -> dict[str, tuple[str, str]]:
    """The commands: each module of vtrace.commands whose docstring begins with a group."""
    names = sorted(path.stem for path in _FOLDER.glob("*.py"))
    found = {name: line for name in names if (line := _first_line(name))}
    return {name: found[name] for name in [*_ORDER, *found] if name in found}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *_commands()])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        line = _first_line(cmd_name)
        if line is None:
            return super().get_command(ctx, cmd_name)
        _, does = line
        command = import_module(f"vtrace.commands.{cmd_name}").command
        assert isinstance(command, click.Command)
        if command.short_help is None:
            command.short_help = does
            command.help = f"{does}\n\n{inspect.cleandoc(command.help or '')}"
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not args[0].startswith("-") and _first_line(args[0]) is None:
            near = get_close_matches(args[0], _commands(), 2)
            raise UsageError(
                f"no such command: {args[0]}",
                f"did you mean {' or '.join(near)}?" if near else "vtrace --help lists the commands",
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title in _GROUPS:
            with formatter.section(title):
                lines = [(name.ljust(10), does) for name, (group, does) in _commands().items() if group == title]
                formatter.write_dl(lines)


_HELP = """Trace parallel programs: record events and write OTF2 archives.

\b
  vtrace run mpiexec -n 4 ./heat    run, write heat.trace and show a summary

\b
  vtrace-cc -O2 heat.c -o heat      record functions, too: compile with the compiler wrapper
  mpiexec -n 4 ./heat               run: writes local files
  vtunify heat                      unify the local files into heat.trace
  vtrace summary heat               show where the time went"""


def _print_pkgconfig(context: click.Context, _: object, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        click.echo(paths.LIB / "pkgconfig")
        context.exit()


@click.group(cls=_Commands, help=_HELP, context_settings=console.CLICK_SETTINGS, invoke_without_command=True)
@click.version_option(__version__, "-V", "--version", prog_name="vtrace", message="%(prog)s %(version)s")
@click.option(
    "--pkgconfig-dir", is_flag=True, is_eager=True, expose_value=False, callback=_print_pkgconfig,
    help="Show the directory of vtrace-user.pc, for PKG_CONFIG_PATH, and exit.",
)  # fmt: skip
@click.pass_context
def command(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        from vtrace.commands.next_steps import next_steps

        for line in next_steps():
            click.echo(line)


def main() -> int:
    """Runs vtrace on sys.argv; returns the exit code."""
    return console.run(command, "vtrace")
