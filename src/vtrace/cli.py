# SPDX-License-Identifier: BSD-3-Clause
"""vtrace: one command with sub-commands; each is loaded when it is called."""

from __future__ import annotations

from importlib import import_module

import click

from vtrace import __version__, console

_COMMANDS = {
    "clean": ("vtrace.commands.clean", "command"),
    "completion": ("vtrace.commands.completion", "command"),
    "diff": ("vtrace.commands.diff", "command"),
    "doctor": ("vtrace.commands.doctor", "command"),
    "dump": ("vtrace.commands.dump", "command"),
    "export": ("vtrace.commands.export", "command"),
    "filter": ("vtrace.commands.filter", "command"),
    "info": ("vtrace.commands.info", "command"),
    "mpip": ("vtrace.commands.mpip", "command"),
    "report": ("vtrace.commands.report", "command"),
    "run": ("vtrace.commands.run", "command"),
    "score": ("vtrace.commands.score", "command"),
    "settings": ("vtrace.commands.settings", "command"),
    "shim": ("vtrace.commands.shim", "shim"),
    "summary": ("vtrace.commands.summary", "command"),
    "timers": ("vtrace.commands.timers", "command"),
    "view": ("vtrace.commands.view", "command"),
}
"""Sub-command -> where it is."""


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *_COMMANDS])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return super().get_command(ctx, cmd_name)
        module, name = _COMMANDS[cmd_name]
        command = getattr(import_module(module), name)
        assert isinstance(command, click.Command)
        return command


_HELP = """Records what parallel programs do over time, as OTF2 archives.

\b
  vtrace-cc -O2 heat.c -o heat      compile with the wrapper
  mpiexec -n 4 ./heat               run: writes local files
                                    (without compiling: vtrace run mpiexec -n 4 ./heat)
  vtunify heat                      unify them into heat.trace
  vtrace summary heat               see where the time went"""


@click.group(cls=_Commands, help=_HELP, context_settings=console.CLICK_SETTINGS)
@click.version_option(__version__, "-V", "--version", prog_name="vtrace", message="%(prog)s %(version)s")
def command() -> None:
    pass


def main() -> int:
    """Entry point of vtrace."""
    return console.run(command, "vtrace")
