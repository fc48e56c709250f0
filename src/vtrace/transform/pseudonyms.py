# SPDX-License-Identifier: BSD-3-Clause
"""The pseudonyms of texts: function_1, host_2 ... A text has the same pseudonym wherever it occurs, and in later
archives if a file keeps the pseudonyms."""

from __future__ import annotations

import fnmatch
import json
import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path

from vtrace.errors import VtraceError
from vtrace.transform.public_texts import is_public

_SITE = re.compile(r"([^@]+)@(.*):(\d+)")
"""A call site, as function@file:line."""
_CONSTRUCT = re.compile(r"(!\$omp [a-z ]+) @(.*):(\d+)")
"""A construct of OpenMP, as Score-P names it."""
_CALLERS = " <- "


class Pseudonyms:
    """keep: patterns of texts that stay; originals: texts that no pseudonym may be equal to."""

    def __init__(self, keep: Sequence[str] = (), originals: Collection[str] = ()) -> None:
        self._keep, self._originals = keep, originals
        self._public: set[str] = set()
        self.of: dict[str, str] = {}
        """The pseudonym of each text."""
        self._last: dict[str, int] = {}

    def stays(self, text: str) -> bool:
        return text in self._public or any(fnmatch.fnmatchcase(text, pattern) for pattern in self._keep)

    def publish(self, text: str) -> None:
        """Lets a text stay wherever it occurs."""
        self._public.add(text)

    def name(self, kind: str, text: str) -> str:
        """The text itself if it is public or stays, else its pseudonym, with the kind of the first call."""
        if is_public(kind, text) or self.stays(text):
            return text
        if text in self.of:
            return self.of[text]
        while True:
            number = self._last[kind] = self._last.get(kind, 0) + 1
            found = f"{kind}_{number}"
            if found not in self._originals:
                self.of[text] = found
                return found

    def site(self, text: str, kind: str = "text") -> str:
        """As name; of call sites the function and the file are named one by one, and lines stay."""
        if (construct := _CONSTRUCT.fullmatch(text)) is not None:
            return f"{construct[1]} @{self.name('source', construct[2])}:{construct[3]}"
        parts = [_SITE.fullmatch(part) for part in text.split(_CALLERS)]
        if self.stays(text) or not all(parts):
            return self.name(kind, text)
        return _CALLERS.join(
            f"{self.name('function', part[1])}@{self.name('source', part[2])}:{part[3]}" for part in parts if part
        )

    def read(self, path: Path) -> None:
        """Takes the pseudonyms of an earlier call. Raises VtraceError."""
        if not path.exists():
            return
        try:
            known = json.loads(path.read_text())
        except (OSError, ValueError) as error:
            raise VtraceError(f"cannot read the pseudonyms in {path}: {error}") from error
        if not isinstance(known, dict) or not all(isinstance(value, str) for value in known.values()):
            raise VtraceError(f"{path} has no pseudonyms", "give --map a file that this command wrote, or a new one")
        self.of = known
        for value in known.values():
            kind, _, number = value.rpartition("_")
            if number.isdecimal():
                self._last[kind] = max(self._last.get(kind, 0), int(number))

    def write(self, path: Path) -> None:
        """Keeps the pseudonyms in a file that only the user may read. Raises VtraceError."""
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                file.write(json.dumps(self.of, indent=1, ensure_ascii=False) + "\n")
        except OSError as error:
            raise VtraceError(f"cannot write the pseudonyms to {path}: {error.strerror}") from error
