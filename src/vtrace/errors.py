# SPDX-License-Identifier: BSD-3-Clause
"""The one error type of vtrace: what went wrong, a hint what to do about it, and the exit code."""

from __future__ import annotations

__all__ = ["FormatError", "NoFilesError", "UsageError", "VtraceError"]


class VtraceError(Exception):
    """A failure that the user can understand: printed as one line, never as a traceback."""

    exit_code = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message} ({self.hint})" if self.hint else message


class UsageError(VtraceError):
    """The command line or a setting is wrong."""

    exit_code = 2


class NoFilesError(VtraceError):
    """There are no local files of a program."""


class FormatError(VtraceError):
    """A file is not what it should be: cut, damaged, foreign, or of another version."""
