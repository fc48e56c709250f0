# SPDX-License-Identifier: BSD-3-Clause
"""The environment of a program under `vtrace run --always`, and the directory of one job's local files.

Jobs of all users may share VT_ALWAYS_DIR. The local files of a job are in NAME.running there, whose lock the job's
watcher holds, and the finished job is NAME.vtz.
"""

from __future__ import annotations

import os
import time

from vtrace.wrappers.launch.preload import literal

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the cost of importing typing
if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

RUNNING = ".running"
"""The ending of the directory of a job that runs."""
PREFIX = "job"
"""The prefix of a job's local files."""
_MARK = "VTRACE_ALWAYS"
"""The variable with the directory of the job that the program belongs to."""
_KEPT = ("VT_ALWAYS_DIR", "VT_SHIM_CACHE")
"""The settings of the user or the site that apply."""
_SETTINGS = {
    "VT_CONFIG": "", "VT_MODE": "PROFILE", "VT_VERBOSE": "0", "VT_SAMPLE_RATE": "0", "VT_PROCESSOR_WAIT": "no",
    "VT_FILE_PREFIX": PREFIX,
}  # fmt: skip
_JOINED = ("VTRACE_PARENT", "VTRACE_RUN", _MARK)
"""Variables by which a program belongs to a run."""
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+"


def jobs_directory(environ: Mapping[str, str]) -> str:
    """The directory of all jobs; "" if the environment names none."""
    home, state = environ.get("HOME", ""), environ.get("XDG_STATE_HOME", "")
    base = state if state.startswith("/") else f"{home}/.local/state" if home.startswith("/") else ""
    chosen = environ.get("VT_ALWAYS_DIR") or (f"{base}/vtrace/jobs" if base else "")
    return os.path.abspath(chosen) if chosen else ""


def is_joined(environ: Mapping[str, str]) -> bool:
    """True if the program belongs to a run that another vtrace run records."""
    return any(name in environ for name in _JOINED)


def make_job(environ: Mapping[str, str], word: str) -> str:
    """Makes the directory of a new job. word: the command. Raises OSError."""
    jobs = jobs_directory(environ)
    if not jobs:
        raise FileNotFoundError(2, "neither VT_ALWAYS_DIR nor HOME is set")
    since = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    job = os.path.join(jobs, f"{file_name(word)}-{since}-{os.uname().nodename}-{os.getpid()}{RUNNING}")
    os.makedirs(jobs, exist_ok=True)
    os.mkdir(job)
    return job


def file_name(program: str) -> str:
    """The part of a job's name that names its program; has no hyphen."""
    return "".join(letter if letter in _LETTERS else "_" for letter in os.path.basename(program))[:64]


def in_job(environ: Mapping[str, str], job: str) -> dict[str, str]:
    """The environment of a program of a job: the settings are those of --always only."""
    found = {name: value for name, value in environ.items() if not name.startswith("VT_") or name in _KEPT}
    return {**found, **_SETTINGS, "VT_PFORM_GDIR": literal(job), _MARK: job}


def leave(environ: MutableMapping[str, str]) -> None:
    """Removes what in_job has set: the program of another vtrace run inside a job belongs to that run only."""
    job = environ.pop(_MARK, "")
    if not job:
        return
    for name, value in {**_SETTINGS, "VT_PFORM_GDIR": literal(job), "VT_UNIFY": "no"}.items():
        if environ.get(name) == value:
            del environ[name]
    for name in _JOINED:
        environ.pop(name, None)
