# SPDX-License-Identifier: BSD-3-Clause
"""The site of the documentation: make docs. Its reference comes from the installed vtrace: a page for each command from
the command's help, and the tables of settings, of findings and of the local files."""

import os
from collections.abc import Iterator
from pathlib import Path

import click
from sphinx.application import Sphinx

from vtrace import cli
from vtrace.commands import vtunify, vtunify_mpi
from vtrace.reports.generated_tables import filled
from vtrace.wrappers.compile import options

project = "vtrace"
extensions = ["myst_parser"]
myst_heading_anchors = 4
exclude_patterns = ["pictures/*.py"]
html_theme = "furo"
html_title = "vtrace"
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", write_commands)
    app.connect("source-read", fill)


def write_commands(app: Sphinx) -> None:
    """A page for each command, in the folder `commands`, which git ignores."""
    folder = Path(app.srcdir, "commands")
    folder.mkdir(exist_ok=True)
    for name, text in helps():
        path = folder / f"{name.replace(' ', '-')}.md"
        page = f"---\norphan: true\n---\n\n# {name}\n\n```text\n{text.strip()}\n```\n"
        if not path.exists() or path.read_text() != page:
            path.write_text(page)


def helps() -> Iterator[tuple[str, str]]:
    """Name and help text of each command."""
    entries = {"vtrace": cli.command, "vtunify": vtunify.command, "vtunify-mpi": vtunify_mpi.command}
    for name, command in entries.items():
        for context in contexts(command, name):
            yield context.command_path, context.get_help()
    for language in (options.C, options.CXX, options.FORTRAN):
        yield language.wrapper, options.help_text(language)


def contexts(command: click.Command, name: str, parent: click.Context | None = None) -> Iterator[click.Context]:
    """The contexts of a command and of its sub-commands."""
    context = command.make_context(name, ["--help"], parent, resilient_parsing=True)
    yield context
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            if found is not None:
                yield from contexts(found, inner, context)


def fill(app: Sphinx, page: str, source: list[str]) -> None:
    """Replaces the marks of the pages."""
    for variable in [name for name in os.environ if name.startswith("VT_")]:
        del os.environ[variable]
    source[0] = filled(source[0])
    if page == "commands":
        names = "\n".join(name.replace(" ", "-") for name, _ in helps())
        tree = "```{toctree}\n:maxdepth: 1\n\n" + "".join(f"commands/{name}\n" for name in names.split()) + "```"
        source[0] = source[0].replace("<!-- the help of all commands -->", tree)
