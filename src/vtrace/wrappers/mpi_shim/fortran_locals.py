# SPDX-License-Identifier: BSD-3-Clause
"""Converts arguments of Fortran entry points to the C variables that templates use."""

from __future__ import annotations

import re
from dataclasses import dataclass

from vtrace.wrappers.mpi_shim.mpi_header import Argument, ArgumentMeaning, MpiFunction


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An entry point. symbol, twin: its name and its PMPI twin's; spellings: other names; function: the C function with
    the same records; arguments: names; texts: names of CHARACTER arguments; described: choice buffers are descriptors.
    """

    symbol: str
    twin: str
    spellings: tuple[str, ...]
    function: MpiFunction
    arguments: tuple[str, ...]
    texts: tuple[str, ...]
    described: bool


_HANDLES = {
    "COMMUNICATOR": "Comm", "DATATYPE": "Type", "REQUEST": "Request", "GROUP": "Group", "WINDOW": "Win", "FILE": "File",
    "INFO": "Info", "OPERATION": "Op", "MESSAGE": "Message", "ERRHANDLER": "Errhandler", "SESSION": "Session",
}  # fmt: skip
_NOT_CONVERTED = re.compile("FUNCTION|EXTRA_STATE|ATTRIBUTE_VAL|VARARGS|STRING|F08_|F90_")
_MOST_TEXT = 4097


@dataclass(frozen=True)
class Local:
    """A C variable for an argument. before: its declaration; passed: expression passed to the twin in place of the
    argument; after: statements after the call."""

    before: list[str]
    passed: str | None = None
    after: tuple[str, ...] = ()


def _local(entry: Entry, argument: Argument, meaning: ArgumentMeaning) -> Local | None:
    """The variable for one argument of the C function; None if the Fortran argument cannot be converted."""
    address, name = f"vt_a{entry.arguments.index(meaning.name)}", argument.name
    before, _, behind = argument.text.rpartition(name)
    pointer = f"{before}*" if behind.startswith("[") else before
    pointed = pointer.rstrip().endswith("*")
    if behind not in ("", "[]"):
        return None
    if meaning.kind == "BUFFER":
        conversion = "vt_fortran_described" if entry.described else "vt_fortran_buffer"
        return Local([f"const void *{name} = {conversion}({address});"])
    if meaning.kind == "STATUS":
        ignore = "MPI_STATUSES_IGNORE" if meaning.array else "MPI_STATUS_IGNORE"
        before = f"MPI_Status *{name} = vt_fortran_status({address}, {ignore});"
        return Local([before], f"{name} == {ignore} ? {address} : (void *){name}")
    if meaning.kind in _HANDLES:
        return _handle(entry, meaning, name=name, at=address, pointed=pointed)
    if meaning.kind == "STRING" and meaning.direction == "in":
        length = f"vt_l{entry.texts.index(meaning.name)}"
        text = f"vt_text_{name}"
        return Local([
            f"char {text}[{_MOST_TEXT}];",
            f"const char *{name} = vt_fortran_text({text}, sizeof {text}, {address}, {length});",
        ])  # fmt: skip
    if _NOT_CONVERTED.search(meaning.kind):
        return None
    if meaning.kind == "INDEX" and meaning.direction == "out" and meaning.name.endswith(("index", "indices")):
        cleaned = "__attribute__((cleanup(vt_fortran_unshift)))"
        many = (f"*{name} > 0", "1")
        if meaning.array:
            many = (f"*(int *)vt_a{entry.arguments.index('outcount')}", "*(int *)vt_a0")
        return Local(
            [f"int *{name} = {address};", f"struct vt_fortran_indices vt_at_{name} {cleaned} = {{{name}, 0}};"],
            after=(f"vt_fortran_shift(&vt_at_{name}, {', '.join(many)});",),
        )
    if pointed:
        return Local([f"{pointer}{name} = {address};"])
    return Local([f"{before}{name} = *(__typeof__({name}) *){address};"])


def _handle(entry: Entry, meaning: ArgumentMeaning, name: str, at: str, *, pointed: bool) -> Local | None:
    kind = _HANDLES[meaning.kind]
    type_ = "MPI_Datatype" if kind == "Type" else f"MPI_{kind}"
    converted = f"PMPI_{kind}_f2c(*(MPI_Fint *){at})"
    if not pointed:
        return Local([f"{type_} {name} = {converted};"])
    if not meaning.array:
        first = f"({type_})0" if meaning.direction == "out" else converted
        variable = f"vt_here_{name}"
        after = f"{variable} = {converted};"
        if meaning.direction == "out":
            after = f"if (*vt_error == MPI_SUCCESS) {after}"
        return Local(
            [f"{type_} {variable} = {first};", f"{type_} *{name} = &{variable};"],
            after=() if meaning.direction == "in" else (after,),
        )
    room = f"vt_room_{name}"
    begin = f"struct vt_fortran_handles {room} __attribute__((cleanup(vt_fortran_drop))) = {{.in_arena = false}};"
    if kind == "Request":
        n = next(a for a in entry.arguments if a in ("count", "incount"))
        n = f"*(MPI_Fint *)vt_a{entry.arguments.index(n)}"
        again = f"vt_fortran_requests_again({name}, {at}, {n});"
        return Local([begin, f"MPI_Request *{name} = vt_fortran_requests(&{room}, {at}, {n});"], after=(again,))
    if kind == "Type" and "comm" in entry.arguments:
        comm = f"PMPI_Comm_f2c(*(MPI_Fint *)vt_a{entry.arguments.index('comm')})"
        n = f"vt_fortran_peers({comm})"
        if "eighbor" in entry.function.name:
            n = f"vt_mpi_neighbours({comm}).{'out' if name.startswith('send') else 'in'}"
        return Local([begin, f"const MPI_Datatype *{name} = vt_fortran_types(&{room}, {at}, {n});"])
    return None


def locals_of(entry: Entry, template: str) -> dict[str, Local] | None:
    """Argument name -> variable, for the arguments that the template uses; None if one cannot be converted."""
    used = set(re.findall(r"\$(\w+)", template))
    # $IN_COMM and $OUT_COMM use the first communicator of their direction.
    comms = [(m.direction == "out", m.name) for m, _ in entry.function.pairs if m.kind == "COMMUNICATOR"]
    for hole, direction in (("IN_COMM", False), ("OUT_COMM", True)):
        used.update([name for out, name in comms if out == direction][:1] if hole in used else ())
    found = {}
    for meaning, argument in entry.function.pairs:
        if meaning.name in used:
            local = _local(entry, argument, meaning) if meaning.name in entry.arguments else None
            if local is None:
                return None
            found[meaning.name] = local
    return found
