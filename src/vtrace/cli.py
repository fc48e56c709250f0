# SPDX-License-Identifier: BSD-3-Clause
"""The command vtrace. Imports a sub-command's module only when the sub-command runs."""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from importlib import import_module

import click

from vtrace import __version__, console, paths
from vtrace.errors import UsageError

_GROUPS = {
    "Prepare": {
        "demo": ("vtrace.commands.demo", "command", "Build, run and unify an example, and show a summary."),
        "run": ("vtrace.commands.run", "command", "Run a program and record it, without rebuilding."),
        "doctor": (
            "vtrace.commands.doctor",
            "command",
            "Show which compilers and MPIs work here, and what is missing.",
        ),
        "settings": ("vtrace.commands.settings", "command", "Show the VT_ settings: value, origin, default, meaning."),
        "counters": (
            "vtrace.commands.counters",
            "command",
            "List the events of this machine, check files of derived events.",
        ),
        "filter": ("vtrace.commands.filter", "command", "Check a filter file and show which of its rules match."),
        "score": (
            "vtrace.commands.score",
            "command",
            "Show which regions fill the buffer, and write a filter for them.",
        ),
        "shim": ("vtrace.commands.shim", "shim", "Build, list and remove MPI shims, one per MPI installation."),
    },
    "After the run": {
        "dump": ("vtrace.commands.dump", "command", "Print the records and definitions of local files."),
        "clean": ("vtrace.commands.clean", "command", "Remove files that killed programs and runs of vtunify left."),
    },
    "Understand": {
        "summary": (
            "vtrace.commands.summary",
            "command",
            "Show where the time went: regions, messages, files, memory.",
        ),
        "view": ("vtrace.commands.view", "command", "Show the timeline of a trace in a browser."),
        "profile": ("vtrace.commands.profile", "command", "Show the time of functions, lines, call paths and threads."),
        "diagnose": ("vtrace.commands.diagnose", "command", "Show why a run is slow: who waits for whom, and why."),
        "diff": ("vtrace.commands.diff", "command", "Show what changed from one trace to another."),
        "mpip": ("vtrace.commands.mpip", "command", "Report MPI time and bytes by call site, in mpiP's format."),
        "timers": ("vtrace.commands.timers", "command", "Print calls, times and counts of user-defined regions."),
    },
    "Share": {
        "report": ("vtrace.commands.report", "command", "Write charts and tables of a trace into one HTML file."),
        "export": ("vtrace.commands.export", "command", "Convert a trace, or a part of it, for other programs."),
        "import": ("vtrace.commands.import", "command", "Add another tool's intervals and values to an archive."),
        "cut": ("vtrace.commands.cut", "command", "Write a part of an archive as a smaller archive."),
    },
    "Help": {
        "info": ("vtrace.commands.info", "command", "Show who recorded a trace, when and how, and what is missing."),
        "help": ("vtrace.commands.help", "command", "Show a page of the documentation in the terminal."),
        "compat": ("vtrace.commands.compat", "command", "Run commands of other tools, with their options and layouts."),
        "completion": ("vtrace.commands.completion", "command", "Print shell completion for all commands of vtrace."),
    },
}
"""The list of commands by groups, each in the order of use. Name -> module, click command, what the command does: its
line in the list of commands, and the first line of its own help. The list imports no module, since most need numpy."""

_COMMANDS = {name: entry for group in _GROUPS.values() for name, entry in group.items()}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *_COMMANDS])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return super().get_command(ctx, cmd_name)
        module, name, does = _COMMANDS[cmd_name]
        command = getattr(import_module(module), name)
        assert isinstance(command, click.Command)
        if command.short_help is None:
            command.short_help = does
            command.help = f"{does}\n\n{inspect.cleandoc(command.help or '')}"
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in _COMMANDS and not args[0].startswith("-"):
            near = get_close_matches(args[0], _COMMANDS, 2)
            raise UsageError(
                f"no such command: {args[0]}",
                f"did you mean {' or '.join(near)}?" if near else "vtrace --help lists the commands",
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in _GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(10), line) for name, (_, _, line) in commands.items()])


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
