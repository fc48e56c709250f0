# SPDX-License-Identifier: BSD-3-Clause
"""The functions in samples that are the program's own: a person reads the cause there, not in the library below."""

from __future__ import annotations

import re
from functools import cached_property

import numpy as np

from vtrace.analysis.activity import CLASS_OF, USER
from vtrace.analysis.call_sites import in_headers
from vtrace.analysis.source import Source
from vtrace.analysis.table import Array

OF_SYSTEM = re.compile(r"/(usr/(local/)?)?lib(32|64|exec)?/")
"""The beginning of the paths of libraries of the system, such as libm."""
_RUNTIME = re.compile(
    r"(^|/)lib(vtrace[\w-]*|p?mpi(ch\w*|fort|cxx|_(mpifh|usempi|cxx|cray|intel|gnu)\w*)?|open-(pal|rte)|uc[mpst]\w*|"
    r"fabric|pmix|psm2?|gomp|i?omp5?|stdc\+\+|gfortran|quadmath|gcc_s)\.so"
)
"""Libraries of MPI, of what it communicates by, of compilers, and vtrace's own, wherever they are installed."""
_UNNAMED = ("[", "__vdso_", "__kernel_")
"""Code without a symbol, such as [heat+0x1020], and the kernel's functions in the process (vdso(7))."""
_INSTALLED = re.compile(r"/(site|dist)-packages/|/lib/python3[^/]*/|^<frozen ")
"""Files of Python that are not the program's own."""
_PYTHON = (".py", "<string>", "<stdin>")
"""The ends of the names of Python's files."""


def is_python(file: str) -> bool:
    """A file has functions of Python, not compiled ones."""
    return file.endswith(_PYTHON) or file.startswith("<frozen ")


def is_foreign(library: str) -> bool:
    """The library of a path is not the program's: it is the system's, of MPI or of a compiler."""
    return bool(OF_SYSTEM.match(library) or _RUNTIME.search(library))


def module_of_python(file: str) -> str:
    """The name of the module of Python that is installed in this file; "" for the program's own files."""
    if not _INSTALLED.search(file):
        return ""
    path = re.sub("^(site|dist)-packages/", "", _INSTALLED.split(file)[-1])
    return path.removesuffix(".py").removesuffix(">").replace("/", ".").removesuffix(".__init__")


def is_own_python(file: str) -> bool:
    """A file has functions of Python, and is the program's own."""
    return is_python(file) and not module_of_python(file)


class OwnCode:
    """The own functions of a trace's program."""

    def __init__(self, trace: Source) -> None:
        self._trace = trace

    @cached_property
    def compiled(self) -> Array:
        """(regions,) bool: compiled functions of the program and of libraries that are not the system's, without those
        of C++'s headers."""
        columns = (self._trace.regions[name].tolist() for name in ("description", "name", "file"))
        known = [
            not (is_foreign(library) or name.startswith(_UNNAMED) or in_headers(file))
            for library, name, file in zip(*columns, strict=True)
        ]
        found: Array = (CLASS_OF[self._trace.regions["activity"]] == USER) & np.array(known, bool)
        found[self._inlined_from_headers()] = False
        return found

    def _inlined_from_headers(self) -> Array:
        """The functions without a declaration, as inlined ones are, that have samples in lines of headers."""
        contexts, declared = self._trace.contexts, self._trace.regions["file"] != ""
        inlined = contexts.take(~declared[contexts["region"]])
        found: Array = np.unique(inlined["region"][[in_headers(file) for file in inlined["file"].tolist()]])
        return found

    @cached_property
    def python(self) -> Array:
        """(regions,) bool: functions of the program in Python."""
        return np.array([is_own_python(str(name)) for name in self._trace.regions["file"]], bool)

    def among(self, regions: Array) -> Array:
        """(regions,) bool: the own functions for stacks with these regions: of Python if any is, else the compiled
        ones."""
        return self.python if self.python[regions].any() else self.compiled

    def above(self, contexts: Array) -> Array:
        """The innermost context with an own function at or above each of some contexts; -1 for none."""
        return self.innermost(contexts, self.among(self._regions)[self._regions])

    def innermost(self, contexts: Array, wanted: Array) -> Array:
        """The innermost wanted context at or above each of some contexts; -1 for none. wanted: (contexts,) bool."""
        parents, found = self._trace.contexts["parent"], contexts.copy()
        for _ in range(len(parents)):
            rest = np.flatnonzero((found >= 0) & ~wanted[found])
            if not len(rest):
                break
            found[rest] = parents[found[rest]]
        return found

    @cached_property
    def _regions(self) -> Array:
        """(contexts,) the region of each context; without one the last region."""
        found: Array = self._trace.contexts["region"]
        return found
