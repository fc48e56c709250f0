# SPDX-License-Identifier: BSD-3-Clause
"""Writes the C source of the MPI shim: a wrapper for each function of an MPI, from templates that look like C.

Lines that begin with four slashes split a template file (mpiwrap/templates/*.c) into sections:

    //// MPI_Send MPI_Bsend             the wrapper of these functions and of their large-count twins (MPI_Send_c)
    //// MPI_Bcast : collective         the same, inserted for $BODY into the frame "collective"
    //// frame collective               a frame
    //// plain                          the wrapper of all functions without a section

A section may list several frames: "nonblocking" makes the wrapper of MPI_Ibcast, "persistent" that of MPI_Bcast_init.
A section may use:

    $FUNCTION              the head of the definition
    $BEGIN                 gets the region; calls the PMPI_ twin and returns if nothing is recorded
    $TRACK                 like $BEGIN, but continues if only the function's group is off
    $RESULT                the result type
    $CALL                  the call of the PMPI_ twin or of another tool
    $IN_COMM, $OUT_COMM    the first communicator that is an input, or an output
    $COMM_FIRST            like $IN_COMM, but usable before $BEGIN
    $BARRIERS              1 if VT_MPI_BARRIER applies to the function, else 0
    $name                  the parameter with this name in the standard
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from string import Template

from vtrace.errors import VtraceError
from vtrace.wrappers.mpi_shim import mpi_groups
from vtrace.wrappers.mpi_shim.mpi_header import REMOVED, MpiFunction, prototypes

BY_HAND = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Pcontrol"}
"""Defined in mpiwrap/init_finalize.c."""

HAND_WRITTEN = (
    "library_version", "tools", "init_finalize", "mpi_groups", "world", "comm", "comm_create", "spawn", "request",
    "complete", "message", "coll", "objects", "types", "rma", "rma_windows", "mpi_io", "sites", "sync", "clocks",
)  # fmt: skip
"""The files of mpiwrap that the source includes before the generated functions."""

WITH_BARRIERS = {
    f"MPI_{name}"
    for name in """Allgather Allgatherv Allreduce Alltoall Alltoallv Bcast Gather Gatherv Reduce Reduce_scatter Scatter
    Scatterv""".split()
}
"""The functions that VT_MPI_BARRIER applies to, as in mpiP."""

NOT_WRAPPED = ("*_DUP_FN", "*_NULL_COPY_FN", "*_NULL_DELETE_FN", "*_CONVERSION_FN_NULL*")
"""Predefined callbacks: programs compare their addresses."""

_POINT2POINT = (
    "MPI*_[BSR]send*", "MPI*_I[bsr]send*", "MPI*_Isend*", "MPI*_Send*", "MPI*_Recv*", "MPI*_Irecv*", "MPI*_Mrecv*",
    "MPI*_Imrecv*", "MPI*_Mprobe", "MPI*_Improbe", "MPI*_Probe", "MPI*_Iprobe", "MPI*_Wait*", "MPI*_Test",
    "MPI*_Testall", "MPI*_Testany", "MPI*_Testsome", "MPI*_Start", "MPI*_Startall", "MPI_Cancel", "MPI_Request_*",
    "MPI_P[rs]*_init*", "MPI_Pready*", "MPI_Parrived",
)  # fmt: skip
_ROLES = (
    ("BARRIER", ("MPI*_Barrier*", "MPI*_Ibarrier")),
    ("COLL_ONE2ALL", ("MPI*_Bcast*", "MPI*_Ibcast*", "MPI*_Scatter*", "MPI*_Iscatter*")),
    ("COLL_ALL2ALL", ("MPI*_Allgather*", "MPI*_Iallgather*", "MPI*_Alltoall*", "MPI*_Ialltoall*", "MPI*_Allreduce*",
                      "MPI*_Iallreduce*", "MPI*_Reduce_scatter*", "MPI*_Ireduce_scatter*", "MPI*_*eighbor_all*")),
    ("COLL_ALL2ONE", ("MPI*_Gather*", "MPI*_Igather*", "MPI*_Reduce", "MPI*_Reduce_c", "MPI*_Reduce_init*",
                      "MPI*_Ireduce*")),
    ("COLL_OTHER", ("MPI*_Scan*", "MPI*_Iscan*", "MPI*_Exscan*", "MPI*_Iexscan*", "MPI_Comm_create*", "MPI_Comm_dup*",
                    "MPI_Comm_idup*", "MPI_Comm_split*", "MPI_Comm_free", "MPI_Comm_disconnect", "MPI_Cart_create",
                    "MPI_Cart_sub", "MPI_Graph_create", "MPI_Dist_graph_create*", "MPI_Intercomm_*")),
    ("POINT2POINT", _POINT2POINT),
    ("RMA", ("MPI_Win_*", "MPI_Put*", "MPI_Get", "MPI_Get_c", "MPI_Rput*", "MPI_Rget*", "MPI_Accumulate*",
             "MPI_Raccumulate*", "MPI_Get_accumulate*", "MPI_Fetch_and_op", "MPI_Compare_and_swap")),
    ("FILE_IO", ("MPI_File_*read*", "MPI_File_*write*")),
    ("FILE_IO_METADATA", ("MPI_File_*",)),
)  # fmt: skip
_NOT_THESE = ("*_create_keyval", "*_create_errhandler*", "*_call_errhandler", "MPI_Comm_create_errhandler_x")

_HEADING = re.compile(r"^//// *(frame )?([^:\n]+?)(?: *: *([\w ]+))?$", re.MULTILINE)


@dataclass(frozen=True)
class Templates:
    """The templates. sections: by function, already inserted into frames; frames: by name."""

    sections: dict[str, str]
    frames: dict[str, str]

    def of(self, function: MpiFunction) -> str:
        """The template for a function; the plain template for a function without a section."""
        name = function.name
        if function.meanings is not None:
            for candidate in (name, name.removesuffix("_c")):
                if candidate in self.sections:
                    return self.sections[candidate]
        return self.sections["plain_void" if function.result == "void" else "plain"]


def read_templates(directory: Path, *more: Path) -> Templates:
    """All sections of the files in a directory; sections in more directories override. Raises VtraceError if no
    templates are found.
    """
    sections: dict[str, tuple[str, str | None]] = {}
    frames: dict[str, str] = {}
    for path in (path for place in (directory, *more) for path in sorted(place.glob("*.c"))):
        pieces = _HEADING.split(path.read_text())
        for is_frame, names, chosen, text in zip(*(pieces[i::4] for i in (1, 2, 3, 4)), strict=True):
            body = text.strip("\n") + "\n"
            if is_frame:
                frames[names] = body
                continue
            for frame in chosen.split() if chosen else (None,):
                sections.update((_derived(name, frame), (body, frame)) for name in names.split())
    if "plain" not in sections:
        raise VtraceError(f"{directory}: no templates of the MPI shim", "install vtrace again")
    framed = {
        name: Template(frames[frame]).safe_substitute(BODY=text.strip("\n")) if frame else text
        for name, (text, frame) in sections.items()
    }
    return Templates(framed, frames)


def _derived(name: str, frame: str | None) -> str:
    """The function that a frame wraps when the section names the blocking function."""
    if frame == "nonblocking":
        return f"MPI_I{name.removeprefix('MPI_').lower()}"
    return f"{name}_init" if frame == "persistent" else name


def wrapped(functions: Iterable[MpiFunction]) -> list[MpiFunction]:
    """The functions that get a wrapper: all but predefined callbacks."""
    return [f for f in functions if not mpi_groups.matches(f.name, NOT_WRAPPED)]


def role(name: str) -> str:
    """OTF2's region role for an MPI function, by its name."""
    if mpi_groups.matches(name, _NOT_THESE):
        return "FUNCTION"
    return next((found for found, patterns in _ROLES if mpi_groups.matches(name, patterns)), "FUNCTION")


def wrapper(function: MpiFunction, templates: Templates) -> str:
    """The C definition of one wrapper."""
    arguments = ", ".join(argument.name for argument in function.arguments)
    parameters = ", ".join(argument.text for argument in function.arguments) or "void"
    # The PMPI_ twin of some functions that convert handles is a macro.
    next_ = (
        f"P{function.name}" if mpi_groups.group(function.name).name == "convert" else f"VT_MPI_NEXT({function.name})"
    )
    call = f"{next_}({arguments})"
    stop = f"{{\n        {call};\n        return;\n    }}" if function.result == "void" else f"return {call};"
    begin = f"const uint32_t vt_region = vt_mpi_begin(VT_F_{function.name});\n    if (!vt_region) {stop}"
    holes = {
        "FUNCTION": f"VT_WRAPPER {function.result} {function.name}({parameters})",
        "BEGIN": begin,
        "TRACK": begin.replace("vt_mpi_begin(", "vt_mpi_track("),
        "RESULT": function.result,
        "CALL": call,
    }
    add_arguments(holes, function)
    holes["COMM_FIRST"] = holes.get("IN_COMM", "")
    holes["BARRIERS"] = barriers(function)
    return Template(templates.of(function)).substitute(holes)


def add_arguments(holes: dict[str, str], function: MpiFunction) -> None:
    """Adds the names of a function's arguments, and of its first communicators."""
    for meaning, argument in function.pairs:
        holes[meaning.name] = argument.name
        if meaning.kind == "COMMUNICATOR":
            holes.setdefault("OUT_COMM" if meaning.direction == "out" else "IN_COMM", argument.name)


def barriers(function: MpiFunction) -> str:
    """In C: 1 if VT_MPI_BARRIER applies to a function, else 0."""
    return "1" if function.name.removesuffix("_c") in WITH_BARRIERS else "0"


def head(functions: list[MpiFunction], hidden: set[str], label: str, version: str) -> str:
    """The first part of each source of the shim. functions: result of wrapped(); hidden: functions that mpi.h does not
    declare; label: MPI and version; version: vtrace's.
    """
    names = [function.name for function in functions]
    parts = [
        f"/* Generated by vtrace {version} for {label}: do not edit. */",
        "#include <mpi.h>",
        f'#define VT_MPI_LABEL "{label}"\n#define VT_MPI_VERSION "{version}"',
        *(
            f"#undef {name}"
            for name in sorted(hidden | {name for name in names if mpi_groups.group(name).name == "convert"})
        ),
        _declarations(hidden.intersection(names)),
        "\n".join(f"#define VT_HAVE_{name} 1" for name in names),
        "enum vt_mpi_function {\n" + "".join(f"    VT_F_{name},\n" for name in names) + "    VT_FUNCTIONS\n};",
        '#include "mpiwrap.h"',
    ]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def generate(functions: list[MpiFunction], head: str, templates: Templates) -> str:
    """The shim's main C source: the files of HAND_WRITTEN and the wrappers of C functions."""
    names = [function.name for function in functions]
    numbers = [mpi_groups.GROUPS.index(mpi_groups.group(name)) for name in names]
    parts = [
        head,
        _groups(),
        "const struct vt_mpi_function_info vt_mpi_functions[VT_FUNCTIONS] = {\n"
        + "".join(f'    {{"{name}", VT_ROLE_{role(name)}, {n}}},\n' for name, n in zip(names, numbers, strict=True))
        + "};",
        "\n".join(f'#include "{name}.c"' for name in HAND_WRITTEN),
    ]
    parts += [wrapper(function, templates) for function in functions if function.name not in BY_HAND]
    parts.append(_own(names))
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def _own(names: list[str]) -> str:
    """The addresses of the wrappers, whichever definitions precede these in the search order."""
    aliases = "".join(f'static __typeof__({name}) vt_own_{name} __attribute__((alias("{name}")));\n' for name in names)
    addresses = "".join(f"    (uintptr_t)vt_own_{name},\n" for name in names)
    return f"{aliases}\nconst uintptr_t vt_mpi_own[VT_FUNCTIONS] = {{\n{addresses}}};"


def _groups() -> str:
    names = "".join(f'"{group.name}", ' for group in mpi_groups.GROUPS)
    default = sum(1 << number for number, group in enumerate(mpi_groups.GROUPS) if group.default)
    return (
        f"const char *const vt_mpi_groups[] = {{{names}NULL}};\n"
        f"#define VT_MPI_DEFAULT_GROUPS {default:#x}u\n"
        f'_Static_assert({len(mpi_groups.GROUPS)} <= 32, "groups are bits");'
    )


def _declarations(names: set[str]) -> str:
    lines = []
    for name in sorted(names):
        result, arguments, _ = prototypes(REMOVED)[name]
        text = ", ".join(argument.text for argument in arguments)
        lines += [f"{result} {name}({text});", f"{result} P{name}({text});"]
    return "\n".join(lines)
