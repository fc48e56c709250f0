# SPDX-License-Identifier: BSD-3-Clause
"""The calls in which threads slept: which function of the program called which function of libc, as the runtime
recorded them (csrc/sampling/blocked_calls.c). A sleeping thread has no samples."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from vtrace.analysis.call_sites import OF_INTERPRETER, libc_name, site_of
from vtrace.analysis.own_code import module_of_python
from vtrace.analysis.questions.path_sums import without_recursion
from vtrace.io.sidecar.sidecar import PYTHON

if TYPE_CHECKING:
    from vtrace.analysis.processor_waits import BlockedTimes
    from vtrace.analysis.table import Array

_INTERPRETER = ("_PyEval_EvalFrameDefault", "Py_RunMain", "Py_BytesMain")
"""Functions of CPython: the functions of Python above them are not in the stack, unless any of them is."""
INTERPRETER_LOCK, LOCK_OF_PYTHON = "the interpreter's lock", "Lock.acquire"
_OF_PYTHON = {
    "clock_nanosleep": "time.sleep", "nanosleep": "time.sleep", "sem_wait": LOCK_OF_PYTHON,
    "sem_timedwait": LOCK_OF_PYTHON, "sem_clockwait": LOCK_OF_PYTHON, "pthread_cond_wait": INTERPRETER_LOCK,
    "pthread_cond_timedwait": INTERPRETER_LOCK, "pthread_cond_signal": INTERPRETER_LOCK, "sem_post": "Lock.release",
}  # fmt: skip
"""The functions of Python for which CPython 3.11 to 3.13 on Linux calls functions of libc. Its threads wait for the
lock of the interpreter (GIL) by a condition variable, for other locks by a semaphore."""
OUTERMOST = ("main", "MAIN__", "<module>")
"""Functions that call all others."""
_STARTS = re.compile(r"_start$|__libc_start|start_thread$|_*(GI_+)?clone3?$")
"""Functions of libc that call the outermost function of a thread."""
_STARTS_OF_PYTHON = ("_bootstrap", "_bootstrap_inner", "run")
"""Methods of Python's Thread and Process that do."""
_CALLERS = 2
"""Sleep is the same if so many of the program's own functions around it are."""
_MOST = 0.5
"""A call explains a difference if it has at least this part of the difference."""


@dataclass(frozen=True)
class SleepingCall:
    """sleeps: the function of libc. function, source (file:line of the call): the program's own code that calls it.
    callers: more functions around it, the outermost first. apart: the nearest of them that tells this call from others
    that sleep as usual in the same function, "" if that is its nearest caller."""

    sleeps: str
    function: str
    source: str
    callers: tuple[str, ...] = ()
    apart: str = ""

    def __str__(self) -> str:
        line = f" ({self.source.rpartition('/')[2]})" if self.source else ""
        return f"{self.sleeps}, called by {self.function}{line}"

    @property
    def text(self) -> str:
        """The function in a sentence about its time."""
        parts = [self.source.rpartition("/")[2]] if self.source else []
        parts += [f"called by {self.caller}"] if self.caller else []
        return f"{self.function} ({', '.join([*parts, f'asleep in {self.sleeps}'])})"

    @property
    def caller(self) -> str:
        """The nearest caller, if it tells more than that the program calls the function."""
        nearest = self.callers[-1] if self.callers and self.callers[-1] not in OUTERMOST else ""
        return f"{nearest} in {self.apart}" if nearest and self.apart else nearest

    def inside(self, function: str) -> SleepingCall:
        """The call as one in a recorded function, into which the others are inlined."""
        if not self.callers:
            return replace(self, callers=(function,))
        return self if bare_name(self.callers[-1]) in function else replace(self, apart=function)

    @property
    def is_of_start(self) -> bool:
        """True if the program's own functions around the call have no names."""
        return bool(_STARTS.match(self.function))

    @property
    def names(self) -> tuple[str, ...]:
        """The call path, without the function of libc."""
        return (*self.callers, self.function)

    @property
    def key(self) -> tuple[str, ...]:
        """The same for all calls that count as one: stacks of threads begin elsewhere, and lines differ."""
        return (self.sleeps, *without_recursion(self.names)[-_CALLERS:])


def bare_name(function: str) -> str:
    """A function's name without its class, arguments and result."""
    return re.sub(r"<.*>|\(.*\)", "", function).rpartition("::")[2].rpartition(" ")[2]


def sleeping_call(site: Sequence[str]) -> SleepingCall | None:
    """The call of a stack, innermost first; None: unknown."""
    if (python := _first_of_python(site)) > 0:
        return _python_call(site, python)
    functions = [call.rpartition("@")[0] for call in site]
    if len(site) < 2 or _is_interpreter(site[1:2]) or any(name in _INTERPRETER for name in functions):
        return None
    known = [found for call in site[1:] if (found := site_of(call))]
    own = [each for each in known if not _STARTS.match(each.function)] or known
    if not own:
        return None
    callers = [each.function for each in own[:0:-1] if not each.function.startswith("[")]
    while callers and callers[-1] == own[0].function:  # the compiler splits functions, too
        callers.pop()
    return SleepingCall(libc_name(site[0]), own[0].function, own[0].source, tuple(callers))


def lock_call(name: str, site: Sequence[str]) -> SleepingCall | None:
    """The call of a function of locks in a stack with functions of Python, innermost first; None: another stack."""
    whole = (f"{name}@", *site)
    return sleeping_call(whole) if _first_of_python(whole) else None


def with_python(site: Sequence[str], callers: Sequence[str]) -> tuple[str, ...]:
    """The stack of a call, without the called function, with the recorded functions of Python above it, innermost
    first; the same stack if it has functions of Python or of libraries of the program."""
    if _first_of_python(("", *site)) or not callers:
        return tuple(site)
    ends = (at for at, call in enumerate(site) if call.rpartition("@")[0] in _INTERPRETER)
    inner = site[: next(ends, len(site))]
    return (*inner, *callers) if not inner or _is_interpreter(inner) else tuple(site)


def is_event_loop(site: Sequence[str]) -> bool:
    """The thread of a stack waits in an event loop of asyncio that has nothing to do."""
    calls = [call for call in site if call.startswith(PYTHON)]
    return len(calls) > 1 and "/selectors.py:" in calls[0] and "/asyncio/base_events.py:" in calls[1]


def is_for_interpreter(site: Sequence[str]) -> bool:
    """The thread of a stack waits for the lock of Python's interpreter, which another thread of the process has."""
    return _in_python(site, _first_of_python(site) or 2) == INTERPRETER_LOCK


def _first_of_python(site: Sequence[str]) -> int:
    """The index of the innermost function of Python; 0: none."""
    return next((at for at, call in enumerate(site) if call.startswith(PYTHON)), 0)


def _is_interpreter(calls: Sequence[str]) -> bool:
    """False without calls: a stack may end at the function of libc."""
    return len(calls) > 0 and all(OF_INTERPRETER.search(call.rpartition("@")[2]) for call in calls)


def _in_python(site: Sequence[str], python: int) -> str:
    """The function that sleeps, as the innermost function of Python calls it, which is at an index."""
    sleeps = libc_name(site[0])
    return _OF_PYTHON.get(sleeps, sleeps) if _is_interpreter(site[1:python]) else sleeps


def _python_call(site: Sequence[str], python: int) -> SleepingCall | None:
    """The call of a stack whose innermost function of Python is at an index: the innermost function of the program's
    own files, which calls time.sleep or a function of an installed module. In a stack without the program's own files
    the outermost function but those that start a thread or process is the caller. None: the definition of the function
    was lost."""
    sleeps = _in_python(site, python)
    calls = [call.removeprefix(PYTHON).rpartition("@") for call in site[python:] if call.startswith(PYTHON)]
    names, files = [name for name, _, _ in calls], [place.rpartition(":")[0] for _, _, place in calls]
    last = max((at for at, name in enumerate(names) if name.rpartition(".")[2] not in _STARTS_OF_PYTHON), default=0)
    own = next((at for at, file in enumerate(files) if not module_of_python(file)), last)
    if not files[own]:
        return None
    if own and not module_of_python(files[own]):
        sleeps = f"{module_of_python(files[own - 1])}.{names[own - 1]}"
    callers = [name for name, file in zip(names[:own:-1], files[:own:-1], strict=True) if not module_of_python(file)]
    return SleepingCall(sleeps, names[own], calls[own][2], tuple(callers))


def longer_sleep(
    asleep: BlockedTimes, ns: Array, locations: Sequence[int], others: Sequence[int], *, difference: float
) -> SleepingCall | None:
    """The call that explains a difference (ns) of the times of some locations and others, by their means. ns: (times,)
    of the sleep that counts. None: none does, or none of its functions is known."""
    call, most = longest_sleep(asleep, ns, locations, others)
    return call if call and not call.is_of_start and most >= _MOST * max(1.0, difference) else None


def longest_sleep(
    asleep: BlockedTimes, ns: Array, locations: Sequence[int], others: Sequence[int], *, whole: bool = False
) -> tuple[SleepingCall | None, float]:
    """The call in which some locations sleep longer than others, and by how many ns, by their means. None: unknown.
    whole: calls with different functions anywhere around them are different."""
    weight = np.isin(asleep.location, locations) / max(1, len(locations))
    weight = (weight - np.isin(asleep.location, others) / max(1, len(others))) * ns
    sums = defaultdict[tuple[str, ...], float](float)
    by_line = defaultdict[SleepingCall, float](float)

    def key(call: SleepingCall) -> tuple[str, ...]:
        return (call.sleeps, *without_recursion(call.names)) if whole else call.key

    for at in np.flatnonzero(weight).tolist():
        if call := sleeping_call(asleep.sites[at]):
            sums[key(call)] += weight[at]
            by_line[call] += weight[at]
    most = max(sums, key=sums.__getitem__, default=())
    if not most:
        return None, 0.0
    found = max((call for call in by_line if key(call) == most), key=by_line.__getitem__)
    alike = {call: more for call, more in by_line.items() if call.key == found.key}
    usual = {name for one, more in alike.items() if 2 * more < alike[found] for name in one.callers}
    nearest = next((name for name in reversed(found.callers) if name not in {*usual, *OUTERMOST}), "")
    return replace(found, apart=nearest if nearest not in found.callers[-1:] else ""), sums[most]
