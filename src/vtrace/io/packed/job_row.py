# SPDX-License-Identifier: BSD-3-Clause
"""Reads the row of a job from its packed archive, without the rest of the archive."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vtrace.errors import FormatError
from vtrace.io.common.names import JOB
from vtrace.io.packed.container import Container, unpacked

_TEXTS, _COUNTS = ("program", "user"), ("ranks", "processes")
_NUMBERS = ("start", "wall", "efficiency", "mpi", "io")


def read_job(path: Path) -> dict[str, Any] | None:
    """The row of vtrace.analysis.job.job_of; None for an archive that is no job's. Raises VtraceError."""
    file = Container(path)
    try:
        if JOB not in file.index.files:
            return None
        row = json.loads(unpacked(file.part(file.index.files[JOB])))
        if not _is_row(row):
            raise ValueError("of other contents")
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: the row of the job is damaged ({error})") from error
    finally:
        file.close()
    found: dict[str, Any] = row
    return found


def _is_row(row: Any) -> bool:
    if not isinstance(row, dict):
        return False
    texts = all(isinstance(row.get(name), str) for name in _TEXTS)
    counts = all(isinstance(row.get(name), int) for name in _COUNTS)
    numbers = all(row.get(name) is None or isinstance(row[name], int | float) for name in _NUMBERS)
    lists = all(isinstance(row.get(name), list) for name in ("command", "hosts", "regions"))
    return texts and counts and numbers and lists and all(map(_is_region, row["regions"]))


def _is_region(region: Any) -> bool:
    return (
        isinstance(region, list) and len(region) == 2
        and isinstance(region[0], str) and isinstance(region[1], int | float)
    )  # fmt: skip
