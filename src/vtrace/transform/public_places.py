# SPDX-License-Identifier: BSD-3-Clause
"""The parts of the paths of sources and libraries that tell whose code it is: the program's own, the system's, or
Python's. These parts say nothing about the program."""

from __future__ import annotations

import re
import sys
from typing import NamedTuple

from vtrace.analysis.call_sites import OF_INTERPRETER
from vtrace.analysis.own_code import OF_SYSTEM

_INSTALLED = re.compile(
    r"(?P<root>.*?)(?P<folder>((^|/|/lib/python3[^/]*/)(site|dist)-packages|/lib/python3[^/]*)/)(?P<rest>.*)"
)
"""A file of Python that is not the program's own."""
_SYSTEM_ROOTS = ("", "/usr", "/usr/local")
_FROZEN = re.compile(r"<frozen (?P<module>[\w.]+)>")
_LIBRARY = re.compile(
    r"(ld-linux[\w-]*|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|gomp)|(lib)?python3[\d.]*|time\.cpython-3[\w-]*)(\.so[\d.]*)?"
)
_HEADERS = re.compile(r"/usr/include/|.*(?P<folder>/include/c\+\+/)")
_ENDING = re.compile(r"\.(py|so)(?=[\d.]*$)")


class PathParts(NamedTuple):
    """A path is root, begin, name and end. root, has_name: the directory, and the part before the end, that do not
    stay."""

    begin: str
    end: str
    root: str = ""
    has_name: bool = True


def parts_of(path: str) -> PathParts:
    """The parts of the path of a source or a library."""
    slash = "/" * path.startswith("/")
    source = OF_INTERPRETER.search(f"{path}:")
    if source and source[0].endswith(":"):
        return PathParts(slash, source[0].strip("/:"), has_name=False)
    system = OF_SYSTEM.match(path) or _HEADERS.match(path)
    begin = (system.groupdict().get("folder") or system[0]) if system else slash
    if _LIBRARY.fullmatch(file := path.rpartition("/")[2]):
        return PathParts(begin, file, has_name=False)
    if frozen := _FROZEN.fullmatch(path):
        is_known = _is_standard(frozen["module"].replace(".", "/"))
        return PathParts(path, "", has_name=False) if is_known else PathParts("<frozen ", ">")
    ending = _ENDING.search(path)
    return _installed(path) or PathParts(begin, ending[0] if ending else "")


def _installed(path: str) -> PathParts | None:
    """The parts of a file of Python that is not the program's own; None for another file."""
    found = _INSTALLED.fullmatch(path)
    if found is None:
        return None
    root, folder, file = found.group("root", "folder", "rest")
    if root in _SYSTEM_ROOTS:
        root, folder = "", root + folder
    if "-packages/" not in folder and _is_standard(file):
        return PathParts(folder, file, root, has_name=False)
    ending = _ENDING.search(path)
    return PathParts(folder, ending[0] if ending else "", root)


def _is_standard(path: str) -> bool:
    """A module of Python's standard library has this path below its directory."""
    return path.split("/")[0].removesuffix(".py") in sys.stdlib_module_names
