# SPDX-License-Identifier: BSD-3-Clause
"""Records calls of Python functions, with generators and exceptions, in all threads.

For CPython 3.9 and newer. Imports nothing of the vtrace package: python_hook/sitecustomize.py loads this file by its
path in any Python with libvtrace.so.1. The interpreter calls C functions of libvtrace.so.1 directly; Python code runs
only at the first call of a function.
"""

import ctypes
import os
import sys
import threading
from typing import Any, Callable  # noqa: UP035 # Python 3.7

_FASTCALL = 0x80  # METH_FASTCALL
_TOOLS = (2, 4, 3)
"""Tool identifiers of sys.monitoring to try: the profiler's, then identifiers without a predefined use."""
_ENTER, _LEAVE = ("PY_START", "PY_RESUME", "PY_THROW"), ("PY_RETURN", "PY_YIELD", "PY_UNWIND")
_HOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_hook", "")
_kept: list = []  # type: ignore[type-arg]
"""References to objects that C code points to: code objects and method definitions."""


class _MethodDef(ctypes.Structure):
    """PyMethodDef, a part of Python's stable ABI."""

    _fields_ = [
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    ]  # fmt: skip


def builtin(name: str, address: Any, flags: int, this: Any) -> Callable[..., Any]:
    """Makes a built-in Python function from a C function; calls cost several times less than through ctypes.

    address: of the C function; flags: METH_... of Python's C API; this: the C function's argument self."""
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    definition = _MethodDef(
        name.encode(errors="backslashreplace"), ctypes.cast(address, ctypes.c_void_p).value, flags, None
    )
    _kept.append(definition)
    function: Callable[..., Any] = make(ctypes.addressof(definition), this, None)
    return function


def runtime() -> Any:
    """libvtrace.so.1 in this process, as a ctypes library; None if not loaded, or if this Python is not CPython."""
    try:
        library = ctypes.PyDLL(None)
        ready = library.vt_python_ready
    except (AttributeError, OSError):
        return None
    return library if sys.implementation.name == "cpython" and ready() else None


def _definer(library: Any) -> Callable[[Any], int]:
    define = library.vt_python_region
    define.restype, define.argtypes = ctypes.c_uint, [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int]

    def region(code: Any) -> int:
        """Defines the region of a code object at its first call. Returns its number; 0, not recorded, for functions
        of the import system and of vtrace's hook."""
        _kept.append(code)
        file = code.co_filename
        if file.startswith(("<frozen importlib", _HOOK)) or file == __file__:
            return 0
        frame = sys._getframe(1)
        module = frame.f_globals.get("__name__") if frame is not None and frame.f_code is code else None
        name = getattr(code, "co_qualname", code.co_name)  # Python 3.11
        whole = f"{module}.{name}" if isinstance(module, str) else name
        where = file.encode("utf-8", "surrogateescape") if not file.startswith("<") else None
        number: int = define(whole.encode("utf-8", "surrogateescape"), where, code.co_firstlineno)
        return number

    return region


def start() -> bool:
    """Starts recording Python functions. Returns False if this process records nothing. Raises RuntimeError if other
    tools use all identifiers of sys.monitoring."""
    library = runtime()
    if library is None and hasattr(ctypes.PyDLL(None), "vt_python_ready"):
        sys.stderr.write("vtrace: Python functions are not recorded: this Python is not CPython 3.9 or newer\n")
    if library is None:
        return False
    define = _definer(library)
    if sys.version_info >= (3, 12):
        _monitor(library, define)
    else:
        _profile(library, define)
    return True


def _monitor(library: Any, define: Callable[[Any], int]) -> None:
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
    tool = next((tool for tool in _TOOLS if monitoring.get_tool(tool) is None), None)
    if tool is None:
        raise RuntimeError("other tools use all identifiers of sys.monitoring")
    monitoring.use_tool_id(tool, "vtrace")
    begin = builtin("begin", library.vt_python_begin, _FASTCALL, define)
    end = builtin("end", library.vt_python_end, _FASTCALL, define)
    events = 0
    for names, function in ((_ENTER, begin), (_LEAVE, end)):
        for name in names:
            event = getattr(monitoring.events, name)
            monitoring.register_callback(tool, event, function)
            events |= event
    monitoring.set_events(tool, events)


def _profile(library: Any, define: Callable[[Any], int]) -> None:
    """For Python before 3.12: a profile function in C. Each thread sets this function for itself at its first call."""
    set_profile = ctypes.pythonapi.PyEval_SetProfile
    set_profile.restype, set_profile.argtypes = None, [ctypes.c_void_p, ctypes.py_object]
    function = ctypes.cast(library.vt_python_profile, ctypes.c_void_p)

    def first(frame: Any, event: str, argument: Any) -> None:
        set_profile(function, define)

    threading.setprofile(first)
    set_profile(function, define)
