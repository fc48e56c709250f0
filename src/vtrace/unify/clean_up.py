# SPDX-License-Identifier: BSD-3-Clause
"""Removes the local files after the archive is complete."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vtrace.console import few_names
from vtrace.unify.model.context import Context
from vtrace.unify.model.file_owners import of_others, owners_text
from vtrace.unify.model.traced_run import Run


def clean_up(run: Run, owners: set[int], keep_reasons: Sequence[str], context: Context) -> None:
    """Removes this rank's local files of a run with an archive; all ranks call this function.

    The files stay if the user keeps them, or if the archive lacks some of their events (the reasons). Files of other
    owners (user ids) stay, too.
    """
    ranks, console = context.ranks, context.console
    if context.request.keep:
        return
    if keep_reasons:
        console.note(f"the local files stay: {'; '.join(keep_reasons[:4])}")
        return
    left: list[Path] = []
    files = run.local_files()
    others = of_others(files, owners)
    for path in files:
        if path in others:
            continue
        try:
            path.unlink(missing_ok=True)
            console.detail(f"removed {path}", level=3)
        except OSError:
            left.append(path)
    others = ranks.reduce(others, dict.__or__)
    if others:
        console.note(f"{owners_text(others)}: not removed")
    left = ranks.reduce(left, list.__add__)
    if left:
        console.warn(f"no permission to remove {few_names(left)}")
