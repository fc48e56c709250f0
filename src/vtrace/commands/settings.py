# SPDX-License-Identifier: BSD-3-Clause
"""Prepare: Show the VT_ settings: value, origin, default, meaning."""

from __future__ import annotations

from dataclasses import asdict

import click

from vtrace.console import CLICK_SETTINGS
from vtrace.text import json_text, plain

_EXAMPLES = """\b
Examples:
  vtrace settings
  VT_BUFFER_SIZE=1G VT_IOTRACE=yes vtrace settings
  VT_CONFIG=site.conf vtrace settings
  vtrace settings --json
"""


@click.command(epilog=_EXAMPLES, context_settings=CLICK_SETTINGS)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, a list of objects.")
def command(as_json: bool) -> None:
    """The value is the one in effect, and where it comes from: the environment, a settings file (VT_CONFIG=FILE, or
    ~/.config/vtrace/settings and /etc/vtrace.conf) or the default. The runtime reports errors on standard error.
    docs/settings.md describes each setting.
    """
    from vtrace.settings import in_force

    settings = in_force()
    if as_json:
        click.echo(json_text([asdict(setting) for setting in settings], indent=2))
        return
    rows = [(s.name, plain(s.value), plain(s.origin), s.meaning) for s in settings]
    widths = [min(max(len(row[i]) for row in rows), 40) for i in range(3)]
    for row in rows:
        click.echo("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]))
