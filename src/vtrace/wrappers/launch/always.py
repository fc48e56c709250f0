# SPDX-License-Identifier: BSD-3-Clause
"""The environment of a program under `vtrace run --always`, and the directory of one job's local files.

Jobs of all users may share VT_ALWAYS_DIR. The local files of a job are in NAME.running there, whose lock the job's
watcher holds, and the finished job is NAME.vtz.
"""

from __future__ import annotations

import os
import time

from vtrace.wrappers.launch.preload import RUNTIME, literal

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the cost of importing typing
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RUNNING = ".running"
"""The ending of the directory of a job that runs."""
PREFIX = "job"
"""The prefix of a job's local files."""
_KEPT = ("VT_ALWAYS_DIR", "VT_SHIM_CACHE")
"""The settings of the user or the site that apply."""
_SETTINGS = {
    "VT_CONFIG": "", "VT_MODE": "PROFILE", "VT_VERBOSE": "0", "VT_SAMPLE_RATE": "0", "VT_PROCESSOR_WAIT": "no",
    "VT_FILE_PREFIX": PREFIX,
}  # fmt: skip
_JOINED = ("VTRACE_PARENT", "VTRACE_RUN")
"""Variables by which a program belongs to a run."""
_REMOTE = ("nfs", "lustre", "gpfs", "beegfs", "ceph", "cifs", "smb", "9p", "afs", "pvfs2", "panfs", "wekafs", "fuse")
"""The beginnings of the names of network file systems in Linux."""
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+"


def jobs_directory(environ: Mapping[str, str]) -> str:
    """The directory of all jobs; "" if the environment names none."""
    home, state = environ.get("HOME", ""), environ.get("XDG_STATE_HOME", "")
    base = state if state.startswith("/") else f"{home}/.local/state" if home.startswith("/") else ""
    chosen = environ.get("VT_ALWAYS_DIR") or (f"{base}/vtrace/jobs" if base else "")
    return os.path.abspath(chosen) if chosen else ""


def is_joined(environ: Mapping[str, str], words: Sequence[str]) -> bool:
    """True if another vtrace run records the program of a command, by the environment or by env in a launcher's
    words."""
    preloads = any(word.startswith("LD_PRELOAD=") and RUNTIME in word for word in words)
    return preloads or any(name in environ for name in _JOINED)


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
    return {**found, **_SETTINGS, **_places(environ, job)}


def _places(environ: Mapping[str, str], job: str) -> dict[str, str]:
    """The directories of the local files. The program writes to the buffer's pages, and so would wait for a network."""
    buffers = environ.get("TMPDIR") or "/tmp" if _is_remote(job) else job
    return {"VT_PFORM_GDIR": literal(job), "VT_PFORM_LDIR": literal(buffers)}


def _is_remote(path: str) -> bool:
    """True if a network file system holds a directory."""
    kind, longest = "", 0
    with open("/proc/self/mounts", errors="surrogateescape") as file:
        for line in file:
            _, place, type, *_ = line.split(" ")
            if longest <= len(place) and f"{path}/".startswith(f"{place.rstrip('/')}/"):
                kind, longest = type, len(place)
    return kind.startswith(_REMOTE)
