# SPDX-License-Identifier: BSD-3-Clause
"""Roots of Debian releases, without Python and vtrace, in which programs run as in a container."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from support.tools import Done, call, need, unavailable

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vtrace-ci"
"""Roots stay here for later sessions, as MPICH's sources do (.ci/run)."""
_ENTER = """mount --make-rprivate / && mount -t proc proc "$0/proc" && mount --bind "$1" "$0/mnt" && shift &&
exec chroot "$0" sh -c 'cd /mnt && exec "$@"' sh "$@"
"""


class DebianRoot:
    """The root of a release. Commands run in mount and process namespaces of their own, so that the root keeps its
    content."""

    def __init__(self, release: str) -> None:
        """Makes the root if there is none. Without root or debootstrap the test is skipped, and fails in CI."""
        if os.geteuid() != 0:
            unavailable("only root can make and enter the root of another Debian release")
        self.path = CACHE / f"debian-{release}"
        CACHE.mkdir(parents=True, exist_ok=True)
        with self.path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # all workers of pytest come here
            if not self.path.exists():
                _make(release, self.path)

    def run(self, directory: Path, *words: str, env: Mapping[str, str] | None = None, check: bool = True) -> Done:
        """Runs a command. directory is /mnt inside, and the current directory; env: the whole environment but PATH."""
        clean = ["env", "-i", "PATH=/usr/bin:/bin:/usr/sbin:/sbin", *(f"{k}={v}" for k, v in (env or {}).items())]
        inside = [need("unshare"), "--mount", "--pid", "--fork", "sh", "-c", _ENTER, str(self.path), str(directory)]
        return call([*inside, *clean, *words], directory, check=check)


def _make(release: str, path: Path) -> None:
    made = path.with_name(f".{path.name}.new")
    shutil.rmtree(made, ignore_errors=True)
    words = [need("debootstrap"), "--variant=minbase", release, str(made), _mirror()]
    done = call(words, path.parent, check=False, timeout=900)
    if done.returncode != 0:
        last = (done.stdout.strip().splitlines() or ["no message"])[-1]
        unavailable(f"debootstrap {release}: {last}")
    made.rename(path)


def _mirror() -> str:
    """The mirror that apt uses."""
    said = call([need("apt-get"), "indextargets", "--format", "$(REPO_URI)", "Origin: Debian"], Path("/")).stdout
    found = re.search(r"^https?://\S*/debian/?$", said, re.MULTILINE)
    return found.group() if found else "http://deb.debian.org/debian"
