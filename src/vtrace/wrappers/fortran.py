# SPDX-License-Identifier: BSD-3-Clause
"""Writes the C source of the wrappers of Fortran entry points, with the same templates as those of C functions.

A wrapper has the binding's arguments, all pointers, and calls the profiling twin with them. For what a template asks
for it has local variables of C's types and names; what comes back is converted as part of the call.
"""

from __future__ import annotations

import functools
import importlib.resources
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

from vtrace.wrappers.generate import Templates
from vtrace.wrappers.header import Argument, Function, Meaning, exported_symbols


@dataclass(frozen=True)
class Binding:
    """One of the Fortran bindings that an MPI has. name: in the description of its regions; library: where it is;
    endings: of its entry points' names, those with descriptors of choice buffers and with large counts among them.
    """

    name: str
    key: str
    library: Path
    endings: tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """An entry point: its symbol, the twin's, other spellings, the C function whose records its calls leave, names of
    its arguments, how many of them are CHARACTER, and whether choice buffers come as descriptors.
    """

    symbol: str
    twin: str
    spellings: tuple[str, ...]
    function: Function
    arguments: tuple[str, ...]
    texts: tuple[str, ...]
    described: bool


BINDINGS = {
    "mpif": ("mpif.h or module mpi", "mpi_init_", ("_",)),
    "f08": ("module mpi_f08", "mpi_init_f08_", ("_f08_", "_f08ts_", "_f08_large_", "_f08ts_large_")),
}
"""By key: name, an entry point that tells the library, endings of entry points."""

_HANDLES = {
    "COMMUNICATOR": "Comm", "DATATYPE": "Type", "REQUEST": "Request", "GROUP": "Group", "WINDOW": "Win", "FILE": "File",
    "INFO": "Info", "OPERATION": "Op", "MESSAGE": "Message", "ERRHANDLER": "Errhandler", "SESSION": "Session",
}  # fmt: skip
_TEXTS = {"STRING", "STRING_ARRAY", "STRING_2DARRAY"}
_NOT_CONVERTED = re.compile("FUNCTION|EXTRA_STATE|ATTRIBUTE_VAL|VARARGS|STRING|F08_|F90_")
_MOST_TEXT = 4097


def bindings(libraries: Sequence[Path]) -> list[Binding]:
    """The bindings that these libraries have."""
    exported = [(library, exported_symbols(library)) for library in libraries]
    return [
        Binding(name, key, library, endings)
        for key, (name, init, endings) in BINDINGS.items()
        for library, symbols in exported
        if init in symbols
    ]


@functools.cache
def _standard() -> dict[str, tuple[str, list[Meaning], list[Meaning]]]:
    """By name in small letters: name in C, Fortran parameters and those of the variant with large counts."""
    text = (importlib.resources.files("pympistandard") / "data" / "apis.json").read_text()
    known = {}
    for key, entry in json.loads(text).items():
        given = [p for p in entry["parameters"] if "f90_parameter" not in (p["suppress"] or "")]
        all_ = [(Meaning(p["name"], p["kind"], p["param_direction"], False), p["large_only"]) for p in given]
        known[key] = (entry["name"], [m for m, large in all_ if not large], [m for m, _ in all_])
    return known


def entries(binding: Binding, functions: Sequence[Function]) -> list[Entry]:
    """The entry points that can be wrapped: the library exports them with their twin, and functions, those that have a
    wrapper in C, hold the function of that name.
    """
    exported = exported_symbols(binding.library)
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
            entry = _entry(symbol, twin, function, large_ones if large else small_ones, "ts" in ending)
            spelled = tuple(s for s in (match[1], f"{match[1]}__", match[1].upper()) if s in exported)
            found.append(entry if ending != "_" else Entry(**{**vars(entry), "spellings": spelled}))
    return found


def _entry(symbol: str, twin: str, function: Function, known: list[Meaning] | None, described: bool) -> Entry:
    if known is None:
        meanings = [Meaning(a.name, "STRING" if "char" in a.text else "", "in", False) for a in function.arguments]
        meanings.append(Meaning("ierror", "ERROR_CODE", "out", False))
    else:
        meanings = [meaning for meaning in known if meaning.kind != "VARARGS"]
    names = tuple(meaning.name for meaning in meanings)
    return Entry(symbol, twin, (), function, names, tuple(m.name for m in meanings if m.kind in _TEXTS), described)


# ---- Conversion ----


@dataclass(frozen=True)
class _Local:
    """A C variable for an argument: what declares it, what is passed on instead, what follows the call."""

    before: list[str]
    passed: str | None = None
    after: tuple[str, ...] = ()


def _local(entry: Entry, argument: Argument, meaning: Meaning) -> _Local | None:
    """The variable for one argument of the C function; None where Fortran's cannot be converted."""
    at, name = f"vt_a{entry.arguments.index(meaning.name)}", argument.name
    before, _, behind = argument.text.rpartition(name)
    pointer = f"{before}*" if behind.startswith("[") else before
    pointed = pointer.rstrip().endswith("*")
    if behind not in ("", "[]"):
        return None
    if meaning.kind == "BUFFER":
        conversion = "vt_fortran_described" if entry.described else "vt_fortran_buffer"
        return _Local([f"const void *{name} = {conversion}({at});"])
    if meaning.kind == "STATUS":
        ignore = "MPI_STATUSES_IGNORE" if meaning.array else "MPI_STATUS_IGNORE"
        before = f"MPI_Status *{name} = vt_fortran_status({at}, {ignore});"
        return _Local([before], f"{name} == {ignore} ? {at} : (void *){name}")
    if meaning.kind in _HANDLES:
        return _handle(entry, meaning, name, at, pointed)
    if meaning.kind == "STRING" and meaning.direction == "in":
        length = f"vt_l{entry.texts.index(meaning.name)}"
        text = f"vt_text_{name}"
        return _Local([
            f"char {text}[{_MOST_TEXT}];",
            f"const char *{name} = vt_fortran_text({text}, sizeof {text}, {at}, {length});",
        ])  # fmt: skip
    if _NOT_CONVERTED.search(meaning.kind):
        return None
    if meaning.kind == "INDEX" and meaning.direction == "out" and meaning.name.endswith(("index", "indices")):
        cleaned = "__attribute__((cleanup(vt_fortran_unshift)))"
        many = (f"*{name} > 0", "1")
        if meaning.array:
            many = (f"*(int *)vt_a{entry.arguments.index('outcount')}", "*(int *)vt_a0")
        return _Local(
            [f"int *{name} = {at};", f"struct vt_fortran_indices vt_at_{name} {cleaned} = {{{name}, 0}};"],
            after=(f"vt_fortran_shift(&vt_at_{name}, {', '.join(many)});",),
        )
    if pointed:
        return _Local([f"{pointer}{name} = {at};"])
    return _Local([f"{before}{name} = *(__typeof__({name}) *){at};"])


def _handle(entry: Entry, meaning: Meaning, name: str, at: str, pointed: bool) -> _Local | None:
    kind = _HANDLES[meaning.kind]
    type_ = "MPI_Datatype" if kind == "Type" else f"MPI_{kind}"
    converted = f"PMPI_{kind}_f2c(*(MPI_Fint *){at})"
    if not pointed:
        return _Local([f"{type_} {name} = {converted};"])
    if not meaning.array:
        first = f"({type_})0" if meaning.direction == "out" else converted
        variable = f"vt_here_{name}"
        after = f"{variable} = {converted};"
        if meaning.direction == "out":
            after = f"if (*vt_error == MPI_SUCCESS) {after}"
        return _Local(
            [f"{type_} {variable} = {first};", f"{type_} *{name} = &{variable};"],
            after=() if meaning.direction == "in" else (after,),
        )
    room = f"vt_room_{name}"
    begin = f"struct vt_fortran_handles {room} __attribute__((cleanup(vt_fortran_drop))) = {{.in_arena = false}};"
    if kind == "Request":
        n = next(a for a in entry.arguments if a in ("count", "incount"))
        n = f"*(MPI_Fint *)vt_a{entry.arguments.index(n)}"
        again = f"vt_fortran_requests_again({name}, {at}, {n});"
        return _Local([begin, f"MPI_Request *{name} = vt_fortran_requests(&{room}, {at}, {n});"], after=(again,))
    if kind == "Type" and "comm" in entry.arguments:
        comm = f"PMPI_Comm_f2c(*(MPI_Fint *)vt_a{entry.arguments.index('comm')})"
        n = f"vt_fortran_peers({comm})"
        if "eighbor" in entry.function.name:
            n = f"vt_mpi_neighbours({comm}).{'out' if name.startswith('send') else 'in'}"
        return _Local([begin, f"const MPI_Datatype *{name} = vt_fortran_types(&{room}, {at}, {n});"])
    return None


# ---- Source ----


_WRAPPER = """extern void {twin}({types});
static struct vt_fortran_twin vt_twin_{symbol} = {{(void *)(uintptr_t){twin}, "{twin}"}};
#define VT_NEXT ((__typeof__(&{twin}))(uintptr_t)vt_fortran_next(&vt_twin_{symbol}))
{definition}
#undef VT_NEXT"""
_SPELLING = """extern __typeof__({symbol}) vt_spelled_{spelling} __asm__("{spelling}")
    __attribute__((weak, visibility("default"), alias("{symbol}")));"""


def wrapper(entry: Entry, templates: Templates) -> str:
    """The declaration of the twin and the definition of the wrapper, with its other spellings."""
    template = templates.of(entry.function)
    locals_ = _locals(entry, template)
    if locals_ is None:
        template, locals_ = templates.sections["plain"], {}
    has_error = entry.arguments[-1:] == ("ierror",)
    pointers = [f"vt_a{i}" for i in range(len(entry.arguments) - has_error)]
    names = [*pointers, *["vt_error"] * has_error, *(f"vt_l{i}" for i in range(len(entry.texts)))]
    kinds = {"vt_a": "void *", "vt_e": "MPI_Fint *", "vt_l": "size_t "}
    types = ", ".join(kinds[name[:4]] + name for name in names) or "void"
    passed = {f"vt_a{entry.arguments.index(name)}": local.passed for name, local in locals_.items() if local.passed}
    function, result = entry.function.name, "*vt_error" if has_error else "MPI_SUCCESS"
    region = f"const uint32_t vt_region = vt_fortran_begin(VT_F_{function}, &vt_twin_{entry.symbol});"
    stop = f"if (!vt_region) {{\n        VT_NEXT({', '.join(names)});\n        return 0;\n    }}"
    own_error = ["MPI_Fint vt_own_error;", "if (!vt_error) vt_error = &vt_own_error;"] * has_error
    before = [*own_error, *(line for local in locals_.values() for line in local.before)]
    call = f"VT_NEXT({', '.join(passed.get(name, name) for name in names)});"
    after = [line for local in locals_.values() for line in local.after]
    holes = {
        "FUNCTION": f"VT_WRAPPER int {entry.symbol}({types})",
        "BEGIN": "\n    ".join([region, stop, *before]),
        "BEGIN_ALWAYS": "\n    ".join([region, *before]),
        "TRACK": "\n    ".join([region.replace("vt_fortran_begin(", "vt_fortran_track("), stop, *before]),
        "RESULT": "int",
        "CALL": "\n        ".join(["({", call, *after, f"{result};"]) + "\n    })",
    }
    for meaning, argument in _pairs(entry.function):
        holes[meaning.name] = argument.name
        if meaning.kind == "COMMUNICATOR":
            holes.setdefault("OUT_COMM" if meaning.direction == "out" else "IN_COMM", argument.name)
    definition = Template(template).substitute(holes).rstrip()
    text = _WRAPPER.format(twin=entry.twin, types=types, symbol=entry.symbol, definition=definition)
    return "\n".join([text, *(_SPELLING.format(spelling=s, symbol=entry.symbol) for s in entry.spellings)])


def _pairs(function: Function) -> list[tuple[Meaning, Argument]]:
    return list(zip(function.meanings or (), function.arguments, strict=False))


def _locals(entry: Entry, template: str) -> dict[str, _Local] | None:
    """By the names of the arguments that the template asks for; None where one of them cannot be converted."""
    asked = set(re.findall(r"\$(\w+)", template))
    # A hole for the first communicator stands for it by its own name.
    comms = [(m.direction == "out", m.name) for m, _ in _pairs(entry.function) if m.kind == "COMMUNICATOR"]
    for hole, direction in (("IN_COMM", False), ("OUT_COMM", True)):
        asked.update([name for out, name in comms if out == direction][:1] if hole in asked else ())
    found = {}
    for meaning, argument in _pairs(entry.function):
        if meaning.name in asked:
            local = _local(entry, argument, meaning) if meaning.name in entry.arguments else None
            if local is None:
                return None
            found[meaning.name] = local
    return found


def without_records(found: Sequence[Entry], templates: Templates) -> list[str]:
    """Entry points whose calls leave less than those of the C function, for an argument that cannot be converted."""
    return [entry.symbol for entry in found if _locals(entry, templates.of(entry.function)) is None]


def generate(binding: Binding, found: Sequence[Entry], head: str, templates: Templates) -> str:
    """The source of a binding's unit. head: what begins the source of the shim, up to its header."""
    defines = [
        f'#define VT_BINDING "{binding.name}"',
        f'#define VT_BINDING_LIBRARY "{binding.library.name}"',
        f"#define VT_WAITANY vt_twin_{next(e.symbol for e in found if e.function.name == 'MPI_Waitany')}",
        '#include "fortran.c"',
    ]
    return "\n\n".join([head.rstrip(), "\n".join(defines), *(wrapper(entry, templates) for entry in found)]) + "\n"
