# SPDX-License-Identifier: BSD-3-Clause
"""The user API for Python programs: regions, counters, markers, comments, messages, on and off.

    from vtrace.user import counter, marker, region

    @region("solve")                  # or @region: by the function's own name
    def solve(): ...

    residual = counter("residual")
    with region("step"):
        residual(1e-3)
        marker("phase", "second half")

In a process without libvtrace.so.1 these functions do nothing, and the decorator returns the function unchanged.
docs/user-api.md describes the user API.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import TracebackType
from typing import Any, TypeVar, overload

__all__ = [
    "comment", "counter", "flush", "is_on", "marker", "note", "off", "on", "receive", "region", "rewind", "section",
    "section_start", "section_stop", "send", "set_rewind_mark", "timesync", "traced",
]  # fmt: skip

_SEVERITIES = ("error", "warning", "hint")
_METH_VARARGS, _METH_NOARGS, _METH_O = 1, 4, 8
DecoratedFunction = TypeVar("DecoratedFunction", bound=Callable[..., Any])


def _is_loaded() -> bool:
    """True if libvtrace.so.1 is in this process. Needs no import of ctypes, which would cost an untraced program most
    of the time of this module."""
    try:
        with open("/proc/self/maps") as maps:
            return "libvtrace.so" in maps.read()
    except OSError:
        return True


def _runtime() -> Any:
    if not _is_loaded():
        return None
    from vtrace.python_functions import runtime

    library = runtime()
    if library is not None:
        _prepare(library)
        _numbers.update(_read_numbers())
    return library


def _read_numbers() -> dict[str, int]:
    """The numbers of csrc/include/vt_user.h, from the copy in the package."""
    import re

    from vtrace.paths import LIB

    header = (LIB / "user" / "vt_user.h").read_text()
    found = re.findall(r"^#define VT_(\w+) (0x[0-9a-f]+|[0-9]+)u?$", header, re.MULTILINE)
    return {name: int(number, 0) for name, number in found}


def _prepare(library: Any) -> None:
    """Declares the functions of csrc/include/vt_user.h to ctypes."""
    from ctypes import c_char_p, c_int, c_uint

    prototypes: dict[str, tuple[Any, list[Any]]] = {
        "def": (c_uint, [c_char_p, c_char_p, c_char_p, c_int]),
        "count_group_def": (c_uint, [c_char_p]),
        "count_def": (c_uint, [c_char_p, c_char_p, c_int, c_uint]),
        "marker_def": (c_uint, [c_char_p, c_int]),
        "marker": (None, [c_uint, c_char_p]),
        "comment": (None, [c_char_p]),
        "comment_def": (None, [c_char_p]),
        "msg_comm_def": (c_uint, [c_char_p]),
        "msg_send": (None, [c_uint, c_uint, c_uint]),
        "msg_recv": (None, [c_uint, c_uint, c_uint]),
        "section_start": (None, [c_char_p, c_int, c_int]),
        "section_stop": (None, [c_char_p, c_int, c_int]),
    }
    for name, (result, arguments) in prototypes.items():
        function = getattr(library, f"VT_User_{name}__")
        function.restype, function.argtypes = result, arguments


_numbers: dict[str, int] = {}
"""Name without VT_ -> number, in a process that is traced."""
_library = _runtime()


def traced() -> bool:
    """True if libvtrace.so.1 is in this process."""
    return _library is not None


def _nothing(*_: object) -> None:
    """Does nothing: the counter of a process that is not traced."""


class UserRegion:
    """A region, for `with` and as a decorator. A region may nest in itself. This base class records nothing."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        pass

    def __call__(self, function: DecoratedFunction) -> DecoratedFunction:
        """Returns function with this region around each call; generators and coroutines unchanged."""
        return function


_UNTRACED = UserRegion()
_regions: dict[tuple[str, str | None], UserRegion] = {}


def _recorded(number: int) -> UserRegion:
    """A region with C functions as __enter__ and __exit__, bound to the region's number. Python looks both up in the
    class, so that each region needs a class of its own."""
    from vtrace.python_functions import builtin

    enter = builtin("__enter__", _library.vt_python_enter, _METH_NOARGS, number)
    leave = builtin("__exit__", _library.vt_python_leave, _METH_VARARGS, number)

    def decorate(_: UserRegion, function: DecoratedFunction) -> DecoratedFunction:
        if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
            return function

        @wraps(function)
        def recorded(*arguments: Any, **named: Any) -> Any:
            enter()
            try:
                return function(*arguments, **named)
            finally:
                leave()

        return recorded  # type: ignore[return-value]

    made: UserRegion = type(
        "UserRegion", (UserRegion,), {"__enter__": enter, "__exit__": leave, "__call__": decorate}
    )()
    return made


@overload
def region(name: str, group: str | None = None) -> UserRegion: ...
@overload
def region(name: DecoratedFunction) -> DecoratedFunction: ...
def region(name: Any, group: str | None = None) -> Any:
    """The region with this name, for `with` or as a decorator. `@region` without name takes the function's name.

    group: the OTF2 group of the region. The region's file and line are those of its first use.
    """
    if _library is None:
        return name if callable(name) else _UNTRACED
    if callable(name):
        code = getattr(name, "__code__", None)
        place = (code.co_filename, code.co_firstlineno) if code else ("", 0)
        return _region(f"{name.__module__}.{name.__qualname__}", group, *place)(name)
    known = _regions.get((name, group))
    if known is not None:
        return known
    frame = sys._getframe(1)
    return _region(name, group, frame.f_code.co_filename, frame.f_lineno)


def _region(name: str, group: str | None, file: str, line: int) -> UserRegion:
    where = _bytes(file) if file else None
    number = _library.VT_User_def__(_bytes(name), _bytes(group) if group else None, where, line)
    return _regions.setdefault((name, group), _recorded(number) if number else _UNTRACED)


def _bytes(text: Any) -> bytes:
    """text in UTF-8, with escapes for anything else: recording a name must not raise an error in the program."""
    if isinstance(text, bytes):
        return text
    name = str(text)
    try:
        return name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return name.encode("utf-8", "backslashreplace")


def _record(function: str, before: tuple[Any, ...], *numbers: Any) -> None:
    """Calls a function of the runtime whose last arguments are whole numbers. Other numbers raise no error in the
    program, which would have none without vtrace; the call is then not recorded."""
    call = getattr(_library, f"VT_User_{function}__")
    try:
        whole = [int(number) for number in numbers]
    except (TypeError, ValueError, OverflowError):
        whole = []
    kept = [kind(number).value for kind, number in zip(call.argtypes[len(before) :], whole, strict=False)]
    if kept == [*numbers]:
        call(*before, *kept)
    elif function not in _refused:
        from vtrace.python_functions import say

        _refused.add(function)
        say(f"{function}: {numbers} are not whole numbers of 32 bits: not recorded")


_refused: set[str] = set()
"""Functions of which a call was not recorded."""


def counter(name: str, unit: str = "#", kind: type = float, group: str | None = None) -> Callable[[float], None]:
    """Returns a function that records a value of this counter. unit: such as "B"; kind: float or int."""
    if _library is None:
        return _nothing
    in_group = _library.VT_User_count_group_def__(_bytes(group)) if group else _numbers["COUNT_DEFGROUP"]
    value = _numbers["COUNT_TYPE_SIGNED" if kind is int else "COUNT_TYPE_DOUBLE"]
    number = _library.VT_User_count_def__(_bytes(name), _bytes(unit), value, in_group)
    from vtrace.python_functions import builtin

    record = _library.vt_python_count_whole if kind is int else _library.vt_python_count
    return builtin(name, record, _METH_O, number)


def marker(name: str, text: str = "", severity: str = "hint") -> None:
    """Records a marker on this thread, now. severity: error, warning or hint. Raises ValueError for another
    severity."""
    if severity not in _SEVERITIES:
        raise ValueError(f"severity {severity!r}: not one of {', '.join(_SEVERITIES)}")
    if _library is not None:
        kind = _numbers[f"MARKER_TYPE_{severity.upper()}"]
        _library.VT_User_marker__(_library.VT_User_marker_def__(_bytes(name), kind), _bytes(text))


def section_start(name: str, number: int = 0, level: int = 0) -> None:
    """Starts a section of this thread. Sections may nest and overlap. Without effect if level is above
    VT_SECTION_LEVEL."""
    if _library is not None:
        _record("section_start", (_bytes(name),), number, level)


def section_stop(name: str, number: int = 0, level: int = 0) -> None:
    """Ends the section that section_start() with the same arguments has started."""
    if _library is not None:
        _record("section_stop", (_bytes(name),), number, level)


@contextmanager
def section(name: str, number: int = 0, level: int = 0) -> Iterator[None]:
    """A section, for `with` and as a decorator, also of a function that calls itself."""
    section_start(name, number, level)
    try:
        yield
    finally:
        section_stop(name, number, level)


def comment(text: str) -> None:
    """Records a comment on this thread, now."""
    if _library is not None:
        _library.VT_User_comment__(_bytes(text))


def note(text: str) -> None:
    """Records a comment on the whole run."""
    if _library is not None:
        _library.VT_User_comment_def__(_bytes(text))


def send(tag: int, size: int, channel: str | None = None) -> None:
    """Records the sending of a message of size bytes. The matching receive has the same tag and channel."""
    if _library is not None:
        _record("msg_send", (_channel(channel),), tag, size)


def receive(tag: int, size: int, channel: str | None = None) -> None:
    """Records the arrival of a message of size bytes. The matching send has the same tag and channel."""
    if _library is not None:
        _record("msg_recv", (_channel(channel),), tag, size)


def _channel(name: str | None) -> int:
    return int(_library.VT_User_msg_comm_def__(_bytes(name))) if name else _numbers["MSG_DEFCOMM"]


def _call(name: str) -> Any:
    return getattr(_library, f"VT_User_{name}__")() if _library is not None else None


def on() -> None:
    """Turns recording of this process on."""
    _call("trace_on")


def off() -> None:
    """Turns recording of this process off, until on()."""
    _call("trace_off")


def is_on() -> bool:
    """True if recording is on; also True in a process that is not traced."""
    return _library is None or bool(_call("is_trace_on"))


def flush() -> None:
    """Writes the records of this thread to its local file."""
    _call("buffer_flush")


def timesync() -> None:
    """Records a clock pair: the values of all clocks now."""
    _call("timesync")


def set_rewind_mark() -> None:
    """Marks the moment that rewind() returns to."""
    _call("set_rewind_mark")


def rewind() -> None:
    """Discards the records of this thread since set_rewind_mark()."""
    _call("rewind")
