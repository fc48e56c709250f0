# SPDX-License-Identifier: BSD-3-Clause
"""vtrace run --always: starts a program as if vtrace were not there, and lets a process write the job's file after the
program's end. Whatever fails, the program runs, and the terminal shows nothing."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress

from vtrace.wrappers.launch import always, launchers, start, watcher
from vtrace.wrappers.launch.program import NoProgramError
from vtrace.wrappers.launch.uses import MissingShimError, shim_of

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the cost of importing typing
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

    from vtrace.wrappers.launch.choices import Choices
    from vtrace.wrappers.launch.preload import Plan

_NO_PARENT = "0"
"""The pid of a parent in VTRACE_RUN: the program is in the profile even if it records nothing."""


def run_always(chosen: Choices, environ: Mapping[str, str]) -> NoReturn:
    """Becomes the program. environ: with the settings of the settings files. Raises NoProgramError."""
    given = start.given_environment()
    behind = launchers.rank(given) is not None and launchers.size(given) != 1
    found = None if always.is_joined(given, chosen.words) or behind else _job(chosen, given, environ)
    if found is None:
        start.execute(chosen.words, given, lambda _: given)
    made, after = found
    changed = {**after, **made.changes}
    if not launchers.kind_of(made.words):
        changed["VTRACE_RUN"] = f"{os.urandom(16).hex()}:{_NO_PARENT}:{always.PREFIX}"
    start.execute(made.words, changed, lambda _: changed)


def _job(chosen: Choices, given: Mapping[str, str], environ: Mapping[str, str]) -> tuple[Plan, dict[str, str]] | None:
    """The start of a recorded program, and its environment; None if it cannot be recorded."""
    job = ""
    try:
        job = always.make_job(environ, chosen.words[0])
        after = always.in_job(given, job)
        made = start.plan(chosen, after)
        lock = os.open(job, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        with suppress(OSError):  # a file system without locks: nobody else looks for this job
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        begin = time.time()
        watcher.watch(lambda: _end(job, begin), kept=lock)
    except Exception as error:  # whatever it is, the program has to run
        with suppress(Exception):
            _give_up(job, chosen.words[0], error)
        return None
    return made, after


def _end(job: str, begin: float) -> None:
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # without it OpenBLAS starts a thread for each core
    from vtrace.commands import job_file

    job_file.write(job, time.time() - begin)


def _give_up(job: str, word: str, error: Exception) -> None:
    """Notes why a program is not recorded. A missing shim is built after the program's end, for later jobs."""
    if job:
        from vtrace.commands import job_file

        os.rmdir(job)
        if not isinstance(error, NoProgramError):  # the user's own error
            job_file.note(os.path.dirname(job), f"{word}: not recorded: {error}")
    if isinstance(error, MissingShimError):
        watcher.watch(lambda: shim_of(error.library))
