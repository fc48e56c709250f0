# SPDX-License-Identifier: BSD-3-Clause
"""Writes the headers of tests/programs/mpi_every.c: calls of all functions of an MPI, from the standard's arguments."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from string import Template

from support.tools import PROGRAMS
from vtrace.wrappers.mpi_shim.mpi_header import REMOVED, Argument, ArgumentMeaning, MpiFunction, prototypes

_HEADING = re.compile(r"^//// (.*)$", re.MULTILINE)

NAMES = {
    "base": "recvbuf",
    "dest": "me", "source": "me", "peer": "peer", "rank": "0", "sources": "&me", "destinations": "&peer",
    "array_of_displacements": "zeros", "array_of_starts": "zeros", "array_of_sizes": "two", "remote_leader": "0",
    "indegree": "1", "outdegree": "1", "port_name": "port", "service_name": '"name"', "filename": '"every.file"',
    "datarep": '"native"', "pset_name": '"mpi://WORLD"', "key": '"key"', "value": '"value"', "size": "64",
    "amode": "MPI_MODE_CREATE | MPI_MODE_RDWR", "lock_type": "MPI_LOCK_SHARED", "order": "MPI_ORDER_C",
    "split_type": "MPI_COMM_TYPE_SHARED", "whence": "MPI_SEEK_SET", "typeclass": "MPI_TYPECLASS_INTEGER",
    "p": "6", "r": "9", "extent": "16", "lb": "0", "stride": "8", "disp_unit": "1", "dims": "out(29)",
    "errorcode": "error_code", "errorclass": "error_class", "required": "MPI_THREAD_SINGLE", "reorder": "0",
    "etype": "MPI_BYTE", "filetype": "MPI_BYTE", "session": "session", "win": "win", "fh": "file", "file": "file",
    "errhandler": "MPI_ERRORS_RETURN", "group": "group", "valuelen": "16", "outsize": "64", "insize": "64",
    "psizes": "ones", "disp": "1", "logical_size": "4", "ndims": "1", "nnodes": "2", "maxneighbors": "1",
    "sourceweights": "ones", "destweights": "ones", "weights": "ones", "level": "1", "status": "&status",
    "c_status": "&status", "extra_state": "NULL",
    "obj_handle": "NULL", "comm_errhandler_fn": "on_comm_error", "file_errhandler_fn": "on_file_error",
    "win_errhandler_fn": "on_win_error", "session_errhandler_fn": "on_session_error",
    "comm_copy_attr_fn": "MPI_COMM_NULL_COPY_FN", "comm_delete_attr_fn": "MPI_COMM_NULL_DELETE_FN",
    "type_copy_attr_fn": "MPI_TYPE_NULL_COPY_FN", "type_delete_attr_fn": "MPI_TYPE_NULL_DELETE_FN",
    "win_copy_attr_fn": "MPI_WIN_NULL_COPY_FN", "win_delete_attr_fn": "MPI_WIN_NULL_DELETE_FN",
    "dtype_file_extent_fn": "on_extent", "comm_keyval": "comm_keyval", "type_keyval": "type_keyval",
    "win_keyval": "win_keyval", "keyval": "comm_keyval",
}  # fmt: skip
"""Arguments by the standard's name of the parameter."""

KINDS = {
    "COMMUNICATOR": "comm", "DATATYPE": "MPI_INT", "OPERATION": "MPI_SUM", "INFO": "MPI_INFO_NULL", "TAG": "7",
    "RANK": "0", "RANK_NNI": "0", "ATTRIBUTE_VAL": "sendbuf", "ATTRIBUTE_VAL_10": "sendbuf",
    "STRING": '"every"', "OFFSET": "0", "LOGICAL": "0", "ASSERT": "0", "KEY": "0", "COLOR": "0", "INDEX": "0",
    "PARTITION": "0", "RMA_DISPLACEMENT_NNI": "0", "LOCATION": "recvbuf", "GROUP": "group", "REQUEST": "request",
    "LOGICAL_VOID": "ones", "PVAR": "pvar", "PVAR_SESSION": "pvar_session", "WINDOW": "win", "FILE": "file",
    "CVAR": "cvar", "CVAR_INDEX": "0", "CVAR_INDEX_SPECIAL": "0", "PVAR_INDEX": "0", "CAT_INDEX": "0",
    "SOURCE_INDEX": "0", "TOOLENUM_INDEX": "0", "TOOLS_ENUM": "enumeration",
}  # fmt: skip
"""Arguments by kind of parameter. Other numbers are 1, and other pointers lead to a buffer."""

OBJECTS = {
    "Comm": "comm", "Errhandler": "MPI_ERRORS_RETURN", "File": "file", "Group": "group", "Info": "info",
    "Message": "MPI_MESSAGE_NULL", "Op": "MPI_SUM", "Request": "MPI_REQUEST_NULL", "Session": "session",
    "Type": "MPI_INT", "Win": "win",
}  # fmt: skip

FREE = {"COMMUNICATOR": "Comm", "GROUP": "Group", "INFO": "Info", "WINDOW": "Win", "FILE": "File",
        "ERRHANDLER": "Errhandler", "OPERATION": "Op", "DATATYPE": "Type"}  # fmt: skip


@dataclass(frozen=True)
class Section:
    """A way to call some functions. names: with wildcards; given: special arguments; code: statements and the call."""

    names: tuple[str, ...]
    given: dict[str, str]
    code: str


def sections() -> list[Section]:
    """The sections of mpi_every_calls.c."""
    pieces = _HEADING.split((PROGRAMS / "mpi_every_calls.c").read_text())
    found = []
    for heading, code in zip(pieces[1::2], pieces[2::2], strict=True):
        names, *given = heading.split(" | ")
        pairs = dict(item.split("=", 1) for item in given)
        code = re.sub(r"^/\* ---- .* \*/$", "", code, flags=re.M).strip()
        found.append(Section(tuple(names.split()), pairs, code or "$CALL;"))
    return found


def _section(function: MpiFunction, known: list[Section]) -> Section | None:
    names = (function.name, function.name.removesuffix("_c"))
    for section in known:
        if any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in section.names):
            return section
    return Section((), {}, "$CALL;") if function.meanings is not None else None


def _array(function: MpiFunction, argument: Argument, meaning: ArgumentMeaning) -> str:
    """The array of mpi_every.c with the type of the parameter."""
    big, address = "MPI_Count" in argument.text, "MPI_Aint" in argument.text
    name = meaning.name
    if "types" in name:
        return "types"
    if "displs" in name:
        in_bytes = re.search(r"alltoallw", function.name)
        return f"{'aint_' if address else ''}byte_places" if in_bytes else "aint_places" if address else "zero_one"
    if address:
        return "aints"
    text = NAMES.get(name, "zeros" if meaning.kind in ("RANK", "COORDINATE") else "ones")
    return f"big_{text}" if big else text


def _argument(
    function: MpiFunction, i: int, argument: Argument, meaning: ArgumentMeaning, given: dict[str, str]
) -> str:
    pointer = "*" in argument.text or "[" in argument.text
    if meaning.name in given:
        return given[meaning.name]
    prefix = function.name.split("_")[1]
    if function.name.endswith("_f2c") and prefix in OBJECTS:
        return f"MPI_{prefix}_c2f({OBJECTS[prefix]})"
    if function.name.endswith("_fromint"):
        return f"MPI_{prefix}_toint({OBJECTS[prefix]})"
    if meaning.kind == "REQUEST" and meaning.direction != "out":
        return "&request" if pointer else "request"
    if meaning.kind == "BUFFER" and meaning.name not in NAMES:
        return "sendbuf" if meaning.direction == "in" else "recvbuf"
    if meaning.kind == "INFO" and (prefix == "Info" or function.name.endswith("_set_info")) and not pointer:
        return "info"
    if meaning.direction != "in":
        return f"out({i})" if pointer else "1"
    if meaning.kind == "POLYFUNCTION":
        conversion = "MPI_CONVERSION_FN_NULL" + ("_C" if function.name.endswith("_c") else "")
        adding = "add_big" if function.name.endswith("_c") else "add"
        return conversion if "conversion" in meaning.name else adding
    if meaning.array and meaning.kind != "STRING" and (pointer or "[" in argument.text):
        return _array(function, argument, meaning)
    if "external" in function.name and meaning.name == "datarep":
        return '"external32"'
    if function.name.endswith(("_toint", "_c2f")) and prefix in OBJECTS:
        return OBJECTS[prefix]
    return NAMES.get(meaning.name) or KINDS.get(meaning.kind) or (f"out({i})" if pointer else "1")


def _clean(function: MpiFunction, meaning: ArgumentMeaning, pointer: str) -> Iterator[str]:
    """Statements that free an object that the call created."""
    if meaning.kind == "REQUEST" and meaning.direction == "out":
        yield f"finish({pointer}, {int('_init' in function.name)});"
    if meaning.kind not in FREE or meaning.direction != "out" or meaning.array or "MPI_T_" in function.name:
        return
    name, null = FREE[meaning.kind], {"Errhandler": "ERRHANDLER", "Type": "DATATYPE"}.get(FREE[meaning.kind])
    if meaning.kind == "DATATYPE" and (meaning.name != "newtype" or "_f90_" in function.name):
        return
    freed = "MPI_File_close" if name == "File" else f"MPI_{name}_free"
    yield f"if (*(MPI_{'Datatype' if name == 'Type' else name} *){pointer} != MPI_{null or name.upper()}_NULL) " + (
        f"{freed}({pointer});"
    )


def body(function: MpiFunction, section: Section) -> str:
    """The statements that call one function."""
    prefix = function.name.split("_")[1]
    holes = {"NAME": function.name, "STEM": re.sub("_(begin|end)(_c)?$", "", function.name)}
    holes |= {"OBJECT": f"MPI_{prefix}", "object": OBJECTS.get(prefix, "")}
    before, after = [], []
    arguments = []
    for i, (argument, meaning) in enumerate(zip(function.arguments, function.meanings or (), strict=False)):
        text = _argument(function, i, argument, meaning, section.given)
        if text.startswith("out("):
            before.append(f"void *const o_{meaning.name} = {text};")
            text = f"o_{meaning.name}"
            if f"${meaning.name}" not in section.code and "$CALL" in section.code:
                first = meaning.kind == "REQUEST"
                after[0 if first else len(after) : 0 if first else len(after)] = _clean(function, meaning, text)
        holes[meaning.name] = text
        arguments.append(text)
    holes["CALL"] = f"{function.name}({', '.join(arguments)})"
    code = Template(section.code).safe_substitute(holes)
    used = [line for line in before if re.search(rf"\b{line.split()[2]}\b", code + " ".join(after))]
    return "\n".join([*used, code, *after])


def write(functions: list[MpiFunction], hidden: set[str], left_out: Collection[str], place: Path) -> set[str]:
    """Writes the headers for an MPI into a directory, without calls of the functions left_out. Returns the functions
    without a section that could call them.
    """
    known = sections()
    removed = prototypes(REMOVED)
    names = [function.name for function in functions]
    lines = [*(f"#define HAVE_{name} 1" for name in names), "enum {", *(f"    N_{name}," for name in names)]
    lines += ["    N_FUNCTIONS", "};", "static const char *const function_names[] = {"]
    lines += [*(f'    "{name}",' for name in names), "};"]
    (place / "every_names.h").write_text("\n".join(lines) + "\n")
    lines = []
    for function in functions:
        name = function.name
        plain = function.result == "int" and not name.endswith(("_toint", "_c2f", "_support", "_is_complete"))
        lines.append(f"#undef {name}")
        if name in hidden:
            lines.append(f"int {name}({', '.join(a.text for a in removed[name][1])});")
        count = f"did(N_{name}, ({name})(__VA_ARGS__))" if plain else f"(counts[N_{name}]++, ({name})(__VA_ARGS__))"
        lines.append(f"#define {name}(...) {count}")
    (place / "every.h").write_text("\n".join(lines) + "\n")
    text, table, missing = [], [], set()
    for function in functions:
        section = _section(function, known)
        if function.name in left_out:
            continue
        if section is None:
            missing.add(function.name)
            continue
        text.append(f"static void call_{function.name}(void)\n{{\n{body(function, section)}\n}}\n")
        table.append(f'    {{"{function.name}", call_{function.name}}},')
    table = ["static const struct {", "    const char *name;", "    void (*call)(void);", "} every[] = {", *table, "};"]
    (place / "every_calls.h").write_text("\n".join([*text, *table]) + "\n")
    return missing
