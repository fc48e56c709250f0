# SPDX-License-Identifier: BSD-3-Clause
"""Records calls of Python functions, with generators and exceptions, in all threads.

For CPython 3.9 and newer. Imports nothing of the vtrace package: python_hook/sitecustomize.py loads this file by its
path in any Python with libvtrace.so.1. The interpreter calls C functions of libvtrace.so.1 directly; Python code runs
only at the first call of a function.
"""

import _thread
import atexit
import ctypes
import functools
import os
import sys
import time
from contextlib import suppress
from typing import Any, Callable  # noqa: UP035 # Python 3.7

_VARARGS, _KEYWORDS, _NOARGS, _ONE, _FASTCALL = 0x1, 0x2, 0x4, 0x8, 0x80  # METH_ of Python's C API
_TOOLS = (5, 4, 3, 1, 0, 2)
"""Tool identifiers of sys.monitoring to try: that of optimizers, which no profiler takes, then those without a
predefined use."""
_HOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_hook", "")
_kept: list = []  # type: ignore[type-arg]
"""References to objects that C code points to: code objects and method definitions."""


class _MethodDef(ctypes.Structure):
    """PyMethodDef, a part of Python's stable ABI."""

    _fields_ = [
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    ]  # fmt: skip


def builtin(name: str, address: Any, flags: int, this: Any, *, module: Any = None) -> Callable[..., Any]:
    """Makes a built-in Python function from a C function; calls cost several times less than through ctypes.

    address: of the C function; flags: METH_... of Python's C API; this: the C function's argument self; module: its
    name."""
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
    definition = _MethodDef(
        name.encode(errors="backslashreplace"), ctypes.cast(address, ctypes.c_void_p).value, flags, None
    )
    _kept.append(definition)
    function: Callable[..., Any] = make(ctypes.addressof(definition), this, module)
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


def say(text: str) -> None:
    """Prints a message. A closed or full standard error must not stop the program."""
    with suppress(Exception):
        sys.stderr.write(f"vtrace: {text}\n")


def start() -> bool:
    """Starts recording Python functions. Returns False if this process records nothing."""
    library = runtime()
    loaded = ctypes.PyDLL(None)
    if hasattr(loaded, "vt_python_loaded"):
        loaded.vt_python_loaded()
        if library is None:
            loaded.vt_python_fails(b"this Python is not CPython 3.9 or newer")
    if library is None:
        return False
    define = _definer(library)
    begin = _monitor if sys.version_info >= (3, 12) else _profile
    if library.vt_python_has_bound():
        untraced = _call_ns()
        begin(library, define)
        library.vt_python_cost.argtypes = [ctypes.c_double, ctypes.c_int]
        library.vt_python_cost(max(_call_ns() - untraced, 0) / 2, begin == _profile)
    else:
        begin(library, define)
    return True


def _call_ns() -> float:
    """The ns of a call of a Python function."""

    def empty() -> None:
        pass

    def calls() -> int:
        start = time.perf_counter_ns()
        for _ in range(500):
            empty()
        return time.perf_counter_ns() - start

    return min(calls() for _ in range(4)) / 500


def _monitor(library: Any, define: Callable[[Any], int]) -> None:
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
    begin = builtin("begin", library.vt_python_begin, _FASTCALL, define)
    end = builtin("end", library.vt_python_end, _FASTCALL, define)
    throw = builtin("throw", library.vt_python_throw, _FASTCALL, define)
    unwind = builtin("unwind", library.vt_python_unwind, _FASTCALL, define)
    of_names = {"PY_START": begin, "PY_RESUME": begin, "PY_THROW": throw,
                "PY_RETURN": end, "PY_YIELD": end, "PY_UNWIND": unwind}  # fmt: skip
    callbacks = {getattr(monitoring.events, name): function for name, function in of_names.items()}
    library.vt_python_monitoring.argtypes = [ctypes.py_object] * 2
    library.vt_python_monitoring(monitoring.DISABLE, monitoring.restart_events)
    original = monitoring.use_tool_id

    def take(but: Any) -> Any:
        """Becomes a tool of sys.monitoring. Returns its number; None if all other numbers are in use."""
        tool = next((tool for tool in _TOOLS if tool != but and monitoring.get_tool(tool) is None), None)
        if tool is None:
            library.vt_python_fails(b"the program uses all tools of sys.monitoring")
            return None
        original(tool, "vtrace")
        for event, function in callbacks.items():
            monitoring.register_callback(tool, event, function)
        monitoring.set_events(tool, sum(callbacks))
        return tool

    own = take(None)

    def leave(tool: Any = None, *rest: Any) -> None:
        """Leaves a number to the program that asks for it."""
        nonlocal own
        if own is None or tool != own:
            return
        own = take(tool)
        monitoring.set_events(tool, 0)
        for event in callbacks:
            monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)

    monitoring.use_tool_id = builtin(
        "use_tool_id", library.vt_python_use_tool, flags=_VARARGS, this=(leave, original), module=original.__module__
    )


class _ThreadFunction(functools.partial):  # type: ignore[type-arg]
    """What a new thread calls. Messages show the program's function."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(self.args[0])


def _profile(library: Any, define: Callable[[Any], int]) -> None:
    """For Python before 3.12: a profile function in C, for each thread (userwrap/python_profilers.c)."""
    own, threads = sys.setprofile, _thread.start_new_thread
    run = builtin("run", library.vt_python_thread, _VARARGS | _KEYWORDS, None)
    library.vt_python_profile_objects.argtypes = [ctypes.py_object] * 5
    library.vt_python_profile_start.argtypes = [ctypes.py_object]
    library.vt_python_profile_objects(define, own, threads, _ThreadFunction, run)
    if not library.vt_python_profile_start(define):
        library.vt_python_fails(b"the thread states of this Python are unknown")
        return
    sys.setprofile = builtin("setprofile", library.vt_python_setprofile, flags=_ONE, this=sys, module="sys")
    start = builtin("start_new_thread", library.vt_python_start_thread, flags=_VARARGS, this=_thread, module="_thread")
    _thread.start_new_thread = _thread.start_new = start
    if "threading" in sys.modules:
        sys.modules["threading"]._start_new_thread = start  # type: ignore[attr-defined]
    atexit.register(builtin("profile_end", library.vt_python_profile_end, _NOARGS, None))
