# SPDX-License-Identifier: BSD-3-Clause
"""Reads a JSON file of any size value by value, in bounded memory; Python's json decodes the values."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from vtrace.errors import FormatError, VtraceError

_CHUNK = 1 << 20
_MOST = 1 << 28
"""Most characters of one value."""
_SPACE = re.compile(r"[ \t\r\n]*")
GZIP = b"\x1f\x8b"
_LITERALS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
_ESCAPE = len(r"\u0000\u")


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is not a number of JSON")


class JsonStream:
    """The values of a file in order. Numbers with a fraction or exponent are texts, since a double loses ns."""

    def __init__(self, path: Path, advance: Callable[[int], None] = lambda read: None) -> None:
        """Raises VtraceError. advance: is told the bytes read."""
        self.path, self._advance = path, advance
        self._decode = json.JSONDecoder(parse_float=str, parse_constant=_refuse).raw_decode
        self._text, self._at, self._before, self._told = "", 0, 0, 0
        self.cut = False
        """The file ends within a value."""
        try:
            self._raw = path.open("rb")
            packed = self._raw.read(2) == GZIP
            self._raw.seek(0)
            binary: IO[bytes] = gzip.GzipFile(fileobj=self._raw) if packed else self._raw  # type: ignore[assignment]
        except OSError as error:
            raise VtraceError(f"cannot read {path}: {error.strerror}") from error
        self._file = io.TextIOWrapper(binary, "utf-8", "replace")

    def __enter__(self) -> JsonStream:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._raw.close()

    def _more(self) -> bool:
        """Reads the next part; False at the end of the file."""
        try:
            read = self._file.read(_CHUNK)
            place = self._raw.tell()
        except (OSError, EOFError) as error:
            raise FormatError(f"{self.path}: cannot be unpacked: {error}", "is the file whole?") from error
        self._advance(place - self._told)
        self._told = place
        self._before += self._at
        self._text, self._at = self._text[self._at :] + read, 0
        return bool(read)

    def _fault(self, reason: str) -> FormatError:
        return FormatError(f"{self.path}: character {self._before + self._at + 1}: {reason}")

    def peek(self) -> str:
        """The next character that is no white space; "" at the end."""
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def take(self, wanted: str) -> bool:
        """Goes behind the next character if it is wanted."""
        if self.peek() != wanted:
            return False
        self._at += 1
        return True

    def value(self) -> Any:
        """The next value; None and cut if the file ends within it. Raises FormatError."""
        if not self.peek():
            self.cut = True
            return None
        while True:
            try:
                value, end = self._decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if not _is_unfinished(error.msg, self._text[error.pos : error.pos + _ESCAPE + 1]):
                    self._at = error.pos
                    raise self._fault(error.msg) from None
            except (ValueError, RecursionError) as error:
                raise self._fault(str(error)) from None
            else:
                size = end - self._at
                if end < len(self._text) or not self._more():  # a number may go on in the next part
                    self._at += size
                    return value
                continue
            if len(self._text) - self._at > _MOST:
                raise self._fault(f"a value of more than {_MOST} characters")
            if not self._more():
                self.cut, self._text = True, ""
                return None

    def items(self) -> Iterator[Any]:
        """The values of the array that begins here. An array may lack its end, as in Chrome's format. Raises
        FormatError."""
        if not self.take("["):
            raise self._fault("expected: [")
        if self.take("]"):
            return
        while True:
            value = self.value()
            if self.cut:
                return
            yield value
            if self.take(","):
                if self.peek() in ("]", ""):  # Chrome's format allows both
                    self.take("]")
                    return
                continue
            if self.peek() and not self.take("]"):
                raise self._fault("expected: , or ]")
            return

    def members(self) -> Iterator[str]:
        """The names of the object that begins here: the caller reads each value. Raises FormatError."""
        if not self.take("{"):
            raise self._fault("expected: {")
        while not self.take("}"):
            name = self.value()
            if self.cut:
                return
            if not isinstance(name, str) or not self.take(":"):
                raise self._fault('expected: "NAME":')
            yield name
            if not self.take(",") and self.peek() not in ("}", ""):
                raise self._fault("expected: , or }")


def _is_unfinished(message: str, rest: str) -> bool:
    """Whether more text may mend an error of json. rest: the text from the place of the error."""
    if message.startswith("Unterminated"):
        return True
    if {*rest} <= {*".eE+-"}:  # within a number
        return True
    return any(word.startswith(rest) for word in _LITERALS) or (r"\u" in message and len(rest) < _ESCAPE)
