# SPDX-License-Identifier: BSD-3-Clause
"""The errors of vtrace: a message, a hint, and an exit code."""

from __future__ import annotations

__all__ = ["FormatError", "NoFilesError", "UsageError", "VtraceError"]


class VtraceError(Exception):
    """An error for the user, printed in one line without a traceback. hint: the remedy; exit_code: of the command."""

    exit_code = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message} ({self.hint})" if self.hint else message


class UsageError(VtraceError):
    """A wrong command line or setting."""

    exit_code = 2


class NoFilesError(VtraceError):
    """No local files found."""


class FormatError(VtraceError):
    """A file is truncated, damaged, of another format or of another version."""


class TileDamageError(FormatError):
    """The file of tiles, not the archive, is damaged: the tiles can be rebuilt."""
