# SPDX-License-Identifier: BSD-3-Clause
"""vtrace completion: shell completion for the commands, and what they offer beside options."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from vtrace.errors import UsageError, VtraceError

_TOOLS = ("vtrace", "vtunify", "vtunify-mpi")


def complete_prefix(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Prefixes of local files that begin with what is typed, with its directory."""
    from vtrace.unify.discover.list_files import prefixes

    directory, slash, start = incomplete.rpartition("/")
    try:
        names = prefixes(Path(directory + slash or "."))
    except VtraceError:
        return []
    return [CompletionItem(directory + slash + name) for name in names if name.startswith(start)]


def complete_target(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Prefixes, or files and directories where there is none."""
    return complete_prefix(context, parameter, incomplete) or [CompletionItem(incomplete, type="file")]


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), required=False)
def command(shell: str | None) -> None:
    """Print shell completion for vtrace, vtunify and vtunify-mpi.

    \b
    bash:  eval "$(vtrace completion bash)"        in ~/.bashrc
    zsh:   eval "$(vtrace completion zsh)"         in ~/.zshrc
    fish:  vtrace completion fish | source         in ~/.config/fish/config.fish
    """
    chosen = shell or os.path.basename(os.environ.get("SHELL") or "bash")
    kind = get_completion_class(chosen)
    if kind is None:
        raise UsageError(f"no completion for {chosen}", "there is one for bash, zsh and fish")
    for tool in _TOOLS:
        # The scripts call the commands again, each with its own variable.
        click.echo(kind(command, {}, tool, f"_{tool.upper().replace('-', '_')}_COMPLETE").source())
