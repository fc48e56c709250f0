# SPDX-License-Identifier: BSD-3-Clause
"""Frames of samples that are calls of Python functions."""

from __future__ import annotations

from collections.abc import Mapping

from vtrace.io.local.records import FRAME_PYTHON, PYTHON_UNIT_BITS, PYTHON_UNIT_MASK
from vtrace.symbols.python_lines import PythonLines
from vtrace.symbols.stack_frames import CallFrame
from vtrace.symbols.symbols import Function
from vtrace.unify.model.process_definitions import PythonCode

_UNKNOWN = "[unknown Python function]"


class PythonFrames:
    """The Python functions of a process, by the frames of its samples."""

    def __init__(self, codes: Mapping[int, PythonCode]) -> None:
        self._codes = codes
        self._lines: dict[int, PythonLines] = {}

    def of(self, frame: int) -> CallFrame:
        """The function and line of a frame with FRAME_PYTHON."""
        number = (frame & ~FRAME_PYTHON) >> PYTHON_UNIT_BITS
        code = self._codes.get(number)
        if code is None:  # its definition was lost
            return CallFrame(Function(_UNKNOWN, _UNKNOWN))
        if number not in self._lines:
            self._lines[number] = PythonLines(code.lines, code.line)
        line = self._lines[number].of(frame & PYTHON_UNIT_MASK) or code.line
        # functions of one name in several files are several functions
        function = Function(code.name, f"{code.name}@{code.file}:{code.line}", code.file, code.line)
        return CallFrame(function, code.file, line)
