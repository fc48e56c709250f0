# SPDX-License-Identifier: BSD-3-Clause
"""vtrace: one command with sub-commands; each is loaded when it is called."""

from __future__ import annotations

import os
from importlib import import_module

import click
from click.shell_completion import get_completion_class

from vtrace import __version__, console
from vtrace.errors import UsageError

_COMMANDS = {
    "dump": ("vtrace.commands.dump", "command"),
    "info": ("vtrace.commands.info", "command"),
    "shim": ("vtrace.commands.shim", "shim"),
}
"""Sub-command -> where it is."""
_TOOLS = ("vtrace", "vtunify")


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
  vtunify heat                      unify them into heat.trace
  vtrace info heat                  see what is in it"""


@click.group(cls=_Commands, help=_HELP, context_settings=console.CLICK_SETTINGS)
@click.version_option(__version__, "-V", "--version", prog_name="vtrace", message="%(prog)s %(version)s")
def command() -> None:
    pass


@command.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), required=False)
def completion(shell: str | None) -> None:
    """Print shell completion for vtrace and vtunify.

    \b
    bash:  eval "$(vtrace completion bash)"        in ~/.bashrc
    zsh:   eval "$(vtrace completion zsh)"         in ~/.zshrc
    fish:  vtrace completion fish | source         in ~/.config/fish/config.fish
    """
    chosen = shell or os.path.basename(os.environ.get("SHELL", "bash"))
    kind = get_completion_class(chosen)
    if kind is None:
        raise UsageError(f"no completion for {chosen}", "there is one for bash, zsh and fish")
    for tool in _TOOLS:
        instance = kind(command, {}, tool, f"_{tool.upper()}_COMPLETE")
        click.echo(instance.source())


def main() -> int:
    """Entry point of vtrace."""
    return console.run(command, "vtrace")
