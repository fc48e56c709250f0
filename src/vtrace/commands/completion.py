# SPDX-License-Identifier: BSD-3-Clause
"""Help: Print shell completion for all commands of vtrace."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from vtrace.errors import UsageError, VtraceError
from vtrace.wrappers.compile import completion as wrappers

_TOOLS = ("vtrace", "vtunify", "vtunify-mpi")


def complete_prefix(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Prefixes of local files that begin with incomplete, which may contain a directory."""
    from vtrace.unify.discover.list_files import prefixes

    directory, slash, start = incomplete.rpartition("/")
    try:
        names = prefixes(Path(directory + slash or "."))
    except VtraceError:
        return []
    return [CompletionItem(directory + slash + name) for name in names if name.startswith(start)]


def complete_target(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Prefixes of local files; the shell completes files and directories if no prefix matches."""
    return complete_prefix(context, parameter, incomplete) or [CompletionItem(incomplete, type="file")]


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), required=False)
def command(shell: str | None) -> None:
    """The commands are vtrace, vtunify and vtunify-mpi, and vtrace-cc, vtrace-cxx and vtrace-fc with their options.

    \b
    bash:  eval "$(vtrace completion bash)"        in ~/.bashrc
    zsh:   eval "$(vtrace completion zsh)"         in ~/.zshrc
    fish:  vtrace completion fish | source         in ~/.config/fish/config.fish
    """
    chosen = shell or os.path.basename(os.environ.get("SHELL") or "bash")
    kind = get_completion_class(chosen)
    if kind is None:
        raise UsageError(f"no completion for {chosen}", "choose bash, zsh or fish")
    for tool in _TOOLS:
        # Each command recognises a call for completion by a variable of its own.
        click.echo(kind(command, {}, tool, f"_{tool.upper().replace('-', '_')}_COMPLETE").source())
    click.echo(wrappers.scripts(chosen), nl=False)
