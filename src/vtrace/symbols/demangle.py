# SPDX-License-Identifier: BSD-3-Clause
"""Converts a function's symbol name to its name in the source."""

from __future__ import annotations

import ctypes
import re
from functools import cache

_CLONE = re.compile(r"(?<=.)(\.(constprop|isra|part|cold|lto_priv|llvm|specialized)(\.\d+)?)+$")
_MODULE_PROCEDURE = re.compile(r"__([\w.]+?)_MOD_(\w+)")  # a submodule is parent.child
_CONTAINED = re.compile(r"\.\d+$")
_OUTLINED = re.compile(r"(?P<of>.+?)\.(_omp_fn\.|omp_outlined(_debug__)?\.?)(?P<number>\d*)")

_NAMELESS = re.compile(r"\.omp_(outlined|task_entry)(\._debug__)?(\.\.?\d*)?")
"""Symbols of clang before 17, without the function's name."""


def readable(symbol: str, fortran: bool) -> str:
    """The name in the source: C++ demangled, Fortran without the compiler's decoration, clones named as the original.

    fortran: the function is Fortran by its debug information; a trailing underscore is then not part of the name.
    """
    plain = original(symbol)
    if outlined := _OUTLINED.fullmatch(plain):  # of a procedure of OpenMP: the procedure's name, then ._omp_fn.0
        return readable(outlined["of"], fortran) + plain[outlined.end("of") :]
    if plain.startswith(("_Z", "__Z")):
        return _demangled(plain) or plain
    if match := _MODULE_PROCEDURE.fullmatch(_CONTAINED.sub("", plain)):
        return f"{match[1]}::{match[2]}"
    if fortran and plain != "MAIN__":
        return _CONTAINED.sub("", plain).rstrip("_") or plain
    return plain


def original(symbol: str) -> str:
    """The symbol of the function that a symbol is a copy of: work for work.constprop.0."""
    return _CLONE.sub("", symbol)


def inside(symbol: str, offset: int) -> str:
    """The name of an address in a function without lines: NAME+0x12. offset: bytes from the function's start. The names
    of outlined bodies of OpenMP constructs of foo (foo._omp_fn.0, foo.omp_outlined) are foo, foo.1, foo.2 ..."""
    match = _OUTLINED.fullmatch(original(symbol))
    if match is None:
        name = readable(symbol, fortran=False)
    else:
        number = match["number"] or "0"
        name = readable(match["of"], fortran=False) + (f".{number}" if offset or number != "0" else "")
    return f"{name}+{offset:#x}" if offset else name


def outlined_of(symbol: str) -> str:
    """The symbol of the function whose OpenMP construct was outlined as symbol; symbol itself for other functions."""
    match = _OUTLINED.fullmatch(original(symbol))
    return match["of"] if match else symbol


def is_outlined(symbol: str) -> bool:
    """True if a function is the body of a construct of OpenMP, which the compiler has taken out of its function."""
    plain = original(symbol)
    return _OUTLINED.fullmatch(plain) is not None or _NAMELESS.fullmatch(plain) is not None


def construct(symbol: str, fortran: bool, program: str | None, place: str, *, is_task: bool) -> str:
    """The name of such a body: foo, parallel region at foo.c:12. program: the name of a Fortran main program; place:
    file and line of the construct."""
    match = _OUTLINED.fullmatch(original(symbol))
    of = match["of"] if match else ""
    name = program if program and of == "MAIN__" else readable(of, fortran) if of else ""
    return f"{name}{', ' if name else ''}{'task' if is_task else 'parallel region'} at {place}"


def _demangled(symbol: str) -> str | None:
    function, free = _demangler()
    if function is None or free is None:
        return None
    status = ctypes.c_int(-1)
    text = function(symbol.encode(errors="replace"), None, None, ctypes.byref(status))
    if not text:
        return None
    try:
        return ctypes.string_at(text).decode(errors="replace") if status.value == 0 else None
    finally:
        free(text)


@cache
def _demangler() -> tuple[ctypes._NamedFuncPointer | None, ctypes._NamedFuncPointer | None]:
    """__cxa_demangle of the machine's C++ runtime, and free; (None, None) without a C++ runtime."""
    for name in ("libstdc++.so.6", "libc++abi.so.1"):
        try:
            function = ctypes.CDLL(name)["__cxa_demangle"]
        except (OSError, AttributeError):
            continue
        function.restype = ctypes.c_void_p
        function.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
        free = ctypes.CDLL(None)["free"]
        free.restype = None
        free.argtypes = [ctypes.c_void_p]
        return function, free
    return None, None
