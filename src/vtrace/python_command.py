# SPDX-License-Identifier: BSD-3-Clause
"""Finds the script in a Python interpreter's command line. Imports nothing, since `vtrace run` uses this module."""

from __future__ import annotations

_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")


def is_python(name: str) -> bool:
    """True if name is the file name of a Python interpreter."""
    return name.startswith(("python", "pypy"))


def python_script(words: list[str]) -> str | None:
    """The script or module that an interpreter with these arguments runs; for -m mpi4py the script that mpi4py runs.
    None for -c and standard input."""
    rest = iter(words)
    for word in rest:
        if word == "-m":
            module = next(rest, "")
            return python_script(list(rest)) if module == "mpi4py" else module.rpartition(".")[2]
        if word == "-c" or not word or word == "-":
            return None
        if word in _WITH_VALUE:
            next(rest, None)
        elif not word.startswith("-"):
            return word
    return None
