# SPDX-License-Identifier: BSD-3-Clause
"""Finds the script in a Python interpreter's command line. Imports nothing, since `vtrace run` uses this module."""

from __future__ import annotations

_VALUED = "cmWX"
"""Options with a value, which stands in the same word or in the next one."""


def is_python(name: str) -> bool:
    """True if name is the file name of a Python interpreter."""
    return name.startswith(("python", "pypy"))


def python_script(words: list[str]) -> str | None:
    """The script or module that an interpreter with these arguments runs; for -m mpi4py the script that mpi4py runs.
    None for -c and standard input."""
    rest = iter(words)
    for word in rest:
        if word in ("", "-"):
            return None
        if not word.startswith("-"):
            return word
        letters = "" if word.startswith("--") else word
        option = next((letter for letter in letters if letter in _VALUED), "")
        value = letters.partition(option)[2] if option else ""
        if not value and (option or word == "--check-hash-based-pycs"):
            value = next(rest, "")
        if option == "m":
            return python_script(list(rest)) if value == "mpi4py" else value.rpartition(".")[2]
        if option == "c":
            return None
    return None
