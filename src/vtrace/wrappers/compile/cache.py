# SPDX-License-Identifier: BSD-3-Clause
"""The cache of files that vtrace builds for this machine: MPI shims and the plug-in for gcc. Checks that no other user
can change a file there, since programs and compilers execute its code."""

from __future__ import annotations

import os
import stat

from vtrace.errors import VtraceError

_LINKS = 40
"""Maximum number of symbolic links in a path, as in the kernel."""


def cache_directory() -> str:
    """VT_SHIM_CACHE, else vtrace/ in XDG_CACHE_HOME, else ~/.cache/vtrace."""
    chosen = os.environ.get("VT_SHIM_CACHE")
    return chosen or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "vtrace")


def make_cache_directory() -> None:
    """Creates the cache directory and its missing parents, for this user only. Raises OSError."""
    missing, path = [], os.path.abspath(cache_directory())
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for path in reversed(missing):
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            if not os.path.isdir(path):
                raise


def check_trusted(path: str) -> None:
    """Raises VtraceError if a user other than this one and root can change or replace a file or directory. Checks each
    directory and symbolic link on its path. Accepts a path that does not exist yet."""
    at, rest, links = "/", os.path.abspath(path).split("/"), 0
    while rest:
        name = rest.pop(0)
        if name in ("", "."):
            continue
        if name == "..":
            at = os.path.dirname(at)
            continue
        here = os.path.join(at, name)
        try:
            found = os.lstat(here)
        except OSError:
            return
        _check(here, found, path)
        if stat.S_ISLNK(found.st_mode) and links < _LINKS:
            target, links = os.readlink(here), links + 1
            at = "/" if target.startswith("/") else at
            rest = target.split("/") + rest
        else:
            at = here


def is_trusted(path: str) -> bool:
    """True if check_trusted accepts the path."""
    try:
        check_trusted(path)
    except VtraceError:
        return False
    return True


def _check(path: str, found: os.stat_result, wanted: str) -> None:
    hint = "set VT_SHIM_CACHE to a directory that only you can write to"
    why = "" if path == wanted else f": {wanted} is not used"
    if found.st_uid not in (os.geteuid(), 0):
        raise VtraceError(f"{path} belongs to another user{why}", hint)
    if stat.S_ISLNK(found.st_mode) or (stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX):
        return
    if found.st_mode & 0o002 or (found.st_mode & 0o020 and not _is_private(found)):
        raise VtraceError(f"other users can write to {path}{why}", hint)


def _is_private(found: os.stat_result) -> bool:
    """True if the file's group has its owner as the only member, as on systems with a group per user."""
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(found.st_uid), grp.getgrgid(found.st_gid)
    except KeyError:
        return False
    return user.pw_gid == group.gr_gid and user.pw_name == group.gr_name and set(group.gr_mem) <= {user.pw_name}
