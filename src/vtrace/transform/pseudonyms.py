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
from vtrace.io.common.outfile import complete
from vtrace.io.sidecar.sidecar import PYTHON, SHARED, TIMED
from vtrace.transform.public_places import parts_of
from vtrace.transform.public_texts import is_public

_PLACE = r"(?P<file>[^@]*?)(?P<at>:\d+|\+0x[0-9a-f]+)"
_SITE = re.compile(f"(?P<begin>({PYTHON})?)(?P<function>.+?)(?P<end>({SHARED})?({TIMED})?)@{_PLACE}")
"""A call site, as function@file:line or function@library+0x1f."""
_CONSTRUCT = re.compile(rf"(?P<construct>!\$omp [a-z ]+) @{_PLACE}")
"""A construct of OpenMP, as Score-P names it."""
_CALLERS = " <- "
_BODY = re.compile(r"(?P<begin>)(?P<function>.*?)(?P<end>\._omp_fn\.\d+|\.?omp_outlined(_debug__)?[.\d]*)")
"""The function that a compiler makes of the body of a construct."""
_UNNAMED = re.compile(r"(?P<begin>\[)(?P<function>.*)(?P<end>\])")
"""Code without a symbol, such as [heat+0x1020]."""


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
        """The text itself if it is public or stays, else its pseudonym, with the kind of the first call. The parts that
        tell which sort of code a function, file or library is stay."""
        if is_public(kind, text) or self.stays(text):
            return text
        if kind == "function" and (parts := _BODY.fullmatch(text) or _UNNAMED.fullmatch(text)):
            return f"{parts['begin']}{self.name(kind, parts['function'])}{parts['end']}"
        if kind == "source" or (kind == "text" and text.startswith("/")):
            path = parts_of(text)
            root = f"/{self._pseudonym('directory', path.root)}" if path.root else ""
            return f"{root}{path.begin}{self._pseudonym(kind, text) if path.has_name else ''}{path.end}"
        return self._pseudonym(kind, text)

    def _pseudonym(self, kind: str, text: str) -> str:
        if not text or self.stays(text):
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
            return f"{construct['construct']} @{self.name('source', construct['file'])}{construct['at']}"
        calls = [_SITE.fullmatch(call) for call in text.split(_CALLERS)]
        if self.stays(text) or not all(calls):
            return self.name(kind, text)
        return _CALLERS.join(self._call(call) for call in calls if call)

    def _call(self, call: re.Match[str]) -> str:
        function = call["function"]
        if parts_of(call["file"]).has_name:
            function = self.name("function", function)
        return f"{call['begin']}{function}{call['end']}@{self.name('source', call['file'])}{call['at']}"

    def read(self, path: Path) -> None:
        """Takes the pseudonyms of an earlier call, if the file exists. Raises VtraceError, also if the file cannot be
        written."""
        if not os.access(path.absolute().parent, os.W_OK):
            raise VtraceError(f"cannot write the pseudonyms to {path}", "give --map a name in a directory of yours")
        if not path.exists():
            return
        try:
            known = json.loads(path.read_text(encoding="utf-8"))
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
            with complete(path, "wb") as file:
                os.fchmod(file.fileno(), 0o600)
                file.write(f"{json.dumps(self.of, indent=1, ensure_ascii=False)}\n".encode(errors="replace"))
        except OSError as error:
            raise VtraceError(f"cannot write the pseudonyms to {path}: {error.strerror}") from error
