# SPDX-License-Identifier: BSD-3-Clause
"""A root of Debian packages for arm64, with vtrace: its commands are programs for aarch64, which qemu runs."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from support.build.debian_roots import CACHE
from support.tools import ROOT, Done, call, need, unavailable
from vtrace.entry import COMMANDS

PACKAGES = CACHE / "arm64"
"""The packages that .ci/arm64 unpacks: the C library, gcc, MPICH and Python with the packages that vtrace needs."""

_ENTER = r"""
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
printf %s ':arm64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:'\
'\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:'\
"$0/usr/bin/qemu-aarch64-static:FP" >/proc/sys/fs/binfmt_misc/register
mkdir -p "$0/mnt"
mount -t tmpfs none "$0/mnt"
cd "$0/mnt"
for each in bin etc lib sbin usr var; do mkdir $each; mount --rbind "$0/$each" $each; done
for each in dev proc sys; do mkdir $each; mount --rbind /$each $each; done
for each in "$1" "$2"; do mkdir -p "./$each"; mount --bind "$each" "./$each"; done
mkdir -p tmp
exec chroot . /bin/sh -c 'cd "$0" && exec "$@"' "${@:3}"
"""
"""Enters root $0 in new namespaces: the handler of binfmt_misc exists only there (Linux 6.7), and the root keeps its
content. $1 and $2: directories to show inside at the same paths; $3: the current directory."""


class ArmRoot:
    """Runs commands in the root. A directory of this machine, and vtrace's sources, are there at the same paths."""

    def __init__(self, shown: Path, libraries: Path) -> None:
        """shown: the directory to show; contains libraries, which support.build.aarch64.cross_build has built. Without
        the packages or the permission to create namespaces the test is skipped, and fails in CI."""
        self._shown, self._vtrace = shown, libraries / "installed"
        if not (PACKAGES / "python-packages").exists():
            unavailable("no Debian packages for arm64: .ci/arm64 unpacks them")
        reason = _refused(shown)
        if reason:
            unavailable(f"no root for arm64 in a namespace of its own: {reason}")

    def run(
        self, directory: Path, *words: str | Path, env: Mapping[str, str] | None = None, check: bool = True,
        timeout: float = 300,
    ) -> Done:  # fmt: skip
        """Runs a command. env: the whole environment but for PATH, PYTHONPATH and HOME."""
        given = {
            "PATH": f"{self._vtrace}/bin:/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": str(self._vtrace),
            "HOME": str(self._shown), "LC_ALL": "C.UTF-8", "QEMU_CPU": "max,sve=off", **(env or {}),
        }  # fmt: skip
        clean = ["/usr/bin/env", "-i", *(f"{name}={value}" for name, value in given.items())]
        return call(
            _inside(self._shown, directory, [*clean, *map(str, words)]), directory, check=check, timeout=timeout
        )


def _inside(shown: Path, directory: Path, words: Sequence[str]) -> list[str]:
    unshare = [need("unshare"), "--map-root-user", "--mount", "--propagation", "private"]
    return [*unshare, need("bash"), "-ec", _ENTER, *map(str, (PACKAGES, ROOT, shown, directory)), *words]


@cache
def _refused(shown: Path) -> str:
    """The reason why the root cannot run commands, or an empty text."""
    done = call(_inside(shown, shown, ["/bin/true"]), shown, check=False)
    return "" if done.returncode == 0 else (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]


def install(libraries: Path) -> None:
    """Installs vtrace from src and its built libraries into the folder installed, with a script for each command."""
    place = libraries / "installed"
    call([need("cmake"), "--install", libraries, "--prefix", place], libraries)
    ignored = shutil.ignore_patterns("_lib", "__pycache__")
    shutil.copytree(ROOT / "src" / "vtrace", place / "vtrace", ignore=ignored, dirs_exist_ok=True)
    (place / "bin").mkdir()
    for name in COMMANDS:
        path = place / "bin" / name
        path.write_text("#!/usr/bin/python3\nfrom vtrace.entry import run\n\nrun()\n")
        path.chmod(0o755)
