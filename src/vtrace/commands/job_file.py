# SPDX-License-Identifier: BSD-3-Clause
"""Writes the file of a job of vtrace run --always from the job's local files, and removes these. Reports to a log
beside the jobs, since nobody reads a terminal."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from vtrace.errors import NoFilesError
from vtrace.io.common.names import JOB, PACKED
from vtrace.text import json_text, plain
from vtrace.wrappers.launch.always import PREFIX, RUNNING, file_name

ENDING = ".ending"
"""The ending of the directory of a job whose file is being written."""
_LOG, _MOST_LOG = "errors-{}.log", 1 << 20
"""The name of a user's log, by user id, and its largest size."""


def write(job: str, wall: float) -> None:
    """Writes the file of a job that has ended, then those of the user's jobs whose watchers were killed. job: the
    directory of its local files; wall: seconds."""
    running = Path(job)
    _write(running, wall)
    for other in sorted(running.parent.glob(f"*{RUNNING}")) + sorted(running.parent.glob(f"*{ENDING}")):
        with suppress(OSError), _held(other):
            if other.stat().st_uid == os.geteuid() and not _runs(other):
                _write(other, None)


@contextmanager
def _held(job: Path) -> Iterator[None]:
    """Holds the lock of a job. Raises OSError if its watcher or another one holds it."""
    descriptor = os.open(job, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _runs(job: Path) -> bool:
    """True if the program of a job still runs on this host."""
    name, _, pid = job.stem.rpartition("-")
    return name.endswith(f"-{os.uname().nodename}") and os.path.exists(f"/proc/{pid}")


def _write(job: Path, wall: float | None) -> None:
    """Tries once: a job whose writing was interrupted is removed."""
    ending = job.with_suffix(ENDING)
    try:
        if job == ending:
            raise InterruptedError(4, "its writer was killed")
        job.rename(ending)
        program = _unify(ending, wall)
        word, _, rest = job.stem.partition("-")
        name = f"{file_name(program) or word}-{rest}{PACKED}"
        (ending / f"{PREFIX}{PACKED}").rename(job.with_name(name))
    except NoFilesError:
        pass  # the program has left vtrace out, or could not be started
    except BaseException as error:  # whatever it is, the local files must not fill the disk
        note(job.parent, f"{job.stem}: {str(error) or type(error).__name__}")
    finally:
        shutil.rmtree(ending, ignore_errors=True)


def _unify(directory: Path, wall: float | None) -> str:
    """Returns the name of the program: that of the ranks, not of their launcher."""
    from vtrace.console import QUIET, Console
    from vtrace.unify.run import Request, unify

    row: dict[str, Any] = {}

    def extend(archive: Path) -> None:
        from vtrace.analysis.job import job_of
        from vtrace.analysis.trace import open_trace

        file = archive / JOB
        file.parent.mkdir(exist_ok=True)
        row.update(job_of(open_trace(archive), wall))
        file.write_text(json_text(row))

    request = Request(prefix=directory / PREFIX, packed=True, salvage=True, jobs=1, extend=extend)
    unify(request, Console("vtrace", QUIET))
    return str(row["program"])


def note(jobs: str | Path, text: str) -> None:
    """Appends a line to the user's log, if the log is not too long."""
    path = os.path.join(jobs, _LOG.format(os.geteuid()))
    with suppress(OSError), open(path, "a", opener=_opener) as file:
        if file.tell() < _MOST_LOG:
            file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {plain(' '.join(text.split()))}\n")


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o644)
