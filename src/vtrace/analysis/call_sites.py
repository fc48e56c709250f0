# SPDX-License-Identifier: BSD-3-Clause
"""The calls in the text of a recorded call site (csrc/core/call_sites.c, unify/merge/code_addresses.py)."""

from __future__ import annotations

import re
from dataclasses import dataclass

_BETWEEN = " <- "
_HEADERS = ("/usr/include/", "/usr/lib/", "/include/c++/")
_OF_LIBC = re.compile(r"^_*(GI_+)?(libc_|new_)?")
"""The prefixes of glibc's own symbols."""
_BY_NUMBER = re.compile(r"^syscall\b")
"""The function that makes a system call: the only one that is known to sleep is futex."""

OF_INTERPRETER = re.compile(
    r"(^|/)(Modules/(_io/\w+\.c|(clinic/)?(_thread|time|socket|select|posix|signal|_queue|_functools)module\.c(\.h)?)|Include/(internal|cpython)/\w+\.h"
    r"|Python/(thread(_pthread)?|ceval(_gil)?|condvar|lock|parking_lot|pystate|pylifecycle|bltinmodule|fileutils)\.[ch]"
    r"|Objects/(abstract|call|(class|descr|method|type)object)\.c):|^(lib)?python3|^time\.cpython-3"
)
"""Source files of CPython around a call that waits, and its executable and libraries without their sources."""


def in_headers(file: str) -> bool:
    """A file has compiled code of C++'s library, or of another library of the system."""
    return any(part in file for part in _HEADERS) and not file.endswith(".py")


@dataclass(frozen=True)
class Site:
    """A call in the program's own code. source: file:line, "" if unknown."""

    function: str
    source: str

    def __str__(self) -> str:
        return f"{self.function} ({self.source.rpartition('/')[2]})" if self.source else self.function


def calls_of(text: str) -> tuple[str, ...]:
    """The calls of a stack, innermost first, each as function@file:line."""
    return tuple(text.split(_BETWEEN)) if text else ()


def libc_name(call: str) -> str:
    """The name of a function of libc, as programs call it; of a system call by syscall: futex."""
    return _BY_NUMBER.sub("futex", _OF_LIBC.sub("", call.rpartition("@")[0]))


def sites_of(text: str) -> list[Site]:
    """The calls of a stack that are in the program's own code, as far as lines tell, innermost first: not in headers of
    C++ and in libraries. Debian builds its libraries with relative paths."""
    found = []
    for call in calls_of(text):
        function, _, place = call.rpartition("@")
        file, _, line = place.rpartition(":")
        if file and line.isdecimal():
            if not any(part in file for part in _HEADERS):
                found.append(Site(function, place))
        elif function and ".so" not in place and not function.startswith("["):
            found.append(Site(function, ""))
    of_program = [site for site in found if not site.source or site.source.startswith("/")]
    return of_program or found


def site_of(text: str) -> Site | None:
    """The innermost of these calls; None for no such call."""
    return next(iter(sites_of(text)), None)
