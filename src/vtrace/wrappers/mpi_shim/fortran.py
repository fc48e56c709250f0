# SPDX-License-Identifier: BSD-3-Clause
"""Writes the C source of wrappers for Fortran entry points, from the templates of C functions.

A wrapper has the binding's arguments, all pointers, and passes these to the PMPI twin. For arguments that the template
uses, the wrapper declares local variables with the types and names of C; $CALL converts output arguments back.
Templates for Fortran only (templates/fortran) may also use: $LOCALS these variables; $REGION the expression for the
region in $BEGIN; $KNOWN the same without a call site; $AT_name, $LENGTH_name an argument of the binding, and its length
if the argument is CHARACTER.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

from vtrace.wrappers.mpi_shim.fortran_locals import Entry, locals_of
from vtrace.wrappers.mpi_shim.generate import Templates, add_arguments, barriers
from vtrace.wrappers.mpi_shim.mpi_header import ArgumentMeaning, MpiFunction, exported_symbols, forum_data, soname


@dataclass(frozen=True, kw_only=True)
class Binding:
    """A Fortran binding of an MPI. name: in the description of regions; key: in BINDINGS; soname, symbols: of its
    library; endings: suffixes of entry points, also for entry points with descriptors of choice buffers or with large
    counts.
    """

    name: str
    key: str
    soname: str
    symbols: frozenset[str]
    endings: tuple[str, ...]


BINDINGS = {
    "mpif": ("mpif.h or module mpi", "mpi_init_", ("_",)),
    "f08": ("module mpi_f08", "mpi_init_f08_", ("_f08_", "_f08ts_", "_f08_large_", "_f08ts_large_")),
}
"""Key -> name, entry point that identifies the library, suffixes of entry points."""

_TEXTS = {"STRING", "STRING_ARRAY", "STRING_2DARRAY"}


def bindings(libraries: Sequence[Path]) -> list[Binding]:
    """The bindings in these libraries."""
    exported = [(library, exported_symbols(library)) for library in libraries]
    return [
        Binding(name=name, key=key, soname=soname(library), symbols=frozenset(symbols), endings=endings)
        for key, (name, init, endings) in BINDINGS.items()
        for library, symbols in exported
        if init in symbols
    ]


@functools.cache
def _standard() -> dict[str, tuple[str, list[ArgumentMeaning], list[ArgumentMeaning]]]:
    """Name in lower case -> name in C, Fortran parameters, and parameters of the variant with large counts."""
    known = {}
    for key, entry in forum_data().items():
        given = [p for p in entry["parameters"] if "f90_parameter" not in (p["suppress"] or "")]
        all_ = [(ArgumentMeaning(p["name"], p["kind"], p["param_direction"], False), p["large_only"]) for p in given]
        known[key] = (entry["name"], [m for m, large in all_ if not large], [m for m, _ in all_])
    return known


def entries(binding: Binding, functions: Sequence[MpiFunction]) -> list[Entry]:
    """The entry points to wrap: the library exports entry point and PMPI twin, and functions, which have a wrapper in
    C, contain the function.
    """
    exported = binding.symbols
    by_name = {function.name: function for function in functions}
    unknown = {name.lower(): name for name in by_name}
    found = []
    for ending in binding.endings:
        pattern = re.compile(rf"(mpix?_\w*[a-z0-9]){ending}")
        for symbol in sorted(exported):
            match = pattern.fullmatch(symbol)
            twin = next((t for t in (f"p{symbol}", f"pmpir_{symbol[4:]}") if t in exported), None)
            if match is None or twin is None:
                continue
            base = match[1].removesuffix("_cptr")
            large = "large" in ending
            name, small_ones, large_ones = _standard().get(base, (unknown.get(base, ""), None, None))
            function = by_name.get(name + "_c" if large else name)
            if function is None:
                continue
            entry = _entry(
                symbol, twin, function=function, known=large_ones if large else small_ones, described="ts" in ending
            )
            spelled = tuple(s for s in (match[1], f"{match[1]}__", match[1].upper()) if s in exported)
            found.append(entry if ending != "_" else Entry(**{**vars(entry), "spellings": spelled}))
    return found


def _entry(
    symbol: str, twin: str, function: MpiFunction, known: list[ArgumentMeaning] | None, *, described: bool
) -> Entry:
    if known is None:
        meanings = [
            ArgumentMeaning(a.name, "STRING" if "char" in a.text else "", "in", False) for a in function.arguments
        ]
        meanings.append(ArgumentMeaning("ierror", "ERROR_CODE", "out", False))
    else:
        meanings = [meaning for meaning in known if meaning.kind != "VARARGS"]
    names = tuple(meaning.name for meaning in meanings)
    return Entry(
        symbol=symbol,
        twin=twin,
        spellings=(),
        function=function,
        arguments=names,
        texts=tuple(m.name for m in meanings if m.kind in _TEXTS),
        described=described,
    )


_WRAPPER = """extern {returns} {twin}({types});
static struct vt_fortran_twin vt_twin_{symbol} = {{(void *)(uintptr_t){twin}, "{twin}"}};
#define VT_NEXT ((__typeof__(&{twin}))(uintptr_t)vt_fortran_next(&vt_twin_{symbol}))
{definition}
#undef VT_NEXT"""
_SPELLING = """extern __typeof__({symbol}) vt_spelled_{spelling} __asm__("{spelling}")
    __attribute__((weak, visibility("default"), alias("{symbol}")));"""


def wrapper(entry: Entry, templates: Templates) -> str:
    """The C code of a wrapper: declaration of the twin, definition, and aliases for other spellings of the name."""
    template = templates.of(entry.function)
    locals_ = locals_of(entry, template)
    if locals_ is None:
        template, locals_ = templates.sections["plain"], {}
    has_error = entry.arguments[-1:] == ("ierror",)
    pointers = [f"vt_a{i}" for i in range(len(entry.arguments) - has_error)]
    names = [*pointers, *["vt_error"] * has_error, *(f"vt_l{i}" for i in range(len(entry.texts)))]
    kinds = {"vt_a": "void *", "vt_e": "MPI_Fint *", "vt_l": "size_t "}
    types = ", ".join(kinds[name[:4]] + name for name in names) or "void"
    # Callers of a Fortran subroutine ignore the wrapper's result.
    is_function = not has_error and entry.function.result != "int"
    result = entry.function.result if is_function else "int"
    passed = {f"vt_a{entry.arguments.index(name)}": local.passed for name, local in locals_.items() if local.passed}
    own_error = ["MPI_Fint vt_own_error;", "if (!vt_error) vt_error = &vt_own_error;"] * has_error
    before = [*own_error, *(line for local in locals_.values() for line in local.before)]
    call = f"VT_NEXT({', '.join(passed.get(name, name) for name in names)})"
    after = [line for local in locals_.values() for line in local.after]
    after.append("*vt_error" if has_error else "MPI_SUCCESS")
    unchanged = f"VT_NEXT({', '.join(names)});"
    stop = f"return {unchanged}" if is_function else f"{unchanged}\n        return 0;"
    about = f"(VT_F_{entry.function.name}, &vt_twin_{entry.symbol})"
    holes = {
        "FUNCTION": f"VT_WRAPPER {result} {entry.symbol}({types})",
        "REGION": f"vt_fortran_begin{about}",
        "TRACKED": f"vt_fortran_track{about}",
        "KNOWN": f"vt_fortran_region{about}",
        "LOCALS": "\n    ".join(before),
        "RESULT": result,
        "CALL": call if is_function else "\n        ".join(["({", f"{call};", *after]) + ";\n    })",
    }
    for hole, region in (("BEGIN", "REGION"), ("TRACK", "TRACKED")):
        lines = [f"const uint32_t vt_region = {holes[region]};", f"if (!vt_region) {{\n        {stop}\n    }}", *before]
        holes[hole] = "\n    ".join(lines)
    holes["BARRIERS"] = barriers(entry.function)
    holes |= {f"AT_{name}": f"vt_a{i}" for i, name in enumerate(entry.arguments)}
    holes |= {f"LENGTH_{name}": f"vt_l{i}" for i, name in enumerate(entry.texts)}
    add_arguments(holes, entry.function)
    if holes.get("IN_COMM") in entry.arguments:  # the locals are declared in $BEGIN, too late for $COMM_FIRST
        holes["COMM_FIRST"] = f"PMPI_Comm_f2c(*(MPI_Fint *)vt_a{entry.arguments.index(holes['IN_COMM'])})"
    definition = Template(template).substitute(holes).rstrip()
    returns = result if is_function else "void"
    text = _WRAPPER.format(twin=entry.twin, types=types, symbol=entry.symbol, definition=definition, returns=returns)
    return "\n".join([text, *(_SPELLING.format(spelling=s, symbol=entry.symbol) for s in entry.spellings)])


def generate(binding: Binding, found: Sequence[Entry], head: str, templates: Templates) -> str:
    """The C source of a binding's wrappers. head: the first part of the shim's source, see generate.head."""
    defines = [
        f'#define VT_BINDING "{binding.name}"',
        f'#define VT_BINDING_LIBRARY "{binding.soname}"',
        f"#define VT_WAITANY vt_twin_{next(e.symbol for e in found if e.function.name == 'MPI_Waitany')}",
        '#include "fortran.c"\n#include "fortran_spawn.c"',
    ]
    return "\n\n".join([head.rstrip(), "\n".join(defines), *(wrapper(entry, templates) for entry in found)]) + "\n"
