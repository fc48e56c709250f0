# SPDX-License-Identifier: BSD-3-Clause
"""Writes a C program that calls every wrapped entry point of a Fortran binding, and defines their PMPI functions.

A call passes a distinct address for each argument. The PMPI function reports any other address, and returns an error,
so that the shim does not use its results.
"""

from __future__ import annotations

from collections.abc import Sequence

from vtrace.wrappers.mpi_shim.fortran_locals import Entry

LENGTH = 5
"""Length of the first CHARACTER argument; each further one is longer by 1."""

_HEAD = """\
#include <mpi.h>
#include <stdio.h>
static union { int number; void *word; char text[64]; } places[32];
static void *given[32];
static size_t lengths[8];
static int wrong, called, error, warm;
static void begin(int n)
{
    called = 0;
    for (int i = 0; i < n; i++) {
        places[i].word = 0;
        places[i].number = 1;
        given[i] = &places[i];
    }
}
static void expect(const char *name, int good)
{
    if (good || !warm) return;
    printf("%s\\n", name);
    wrong++;
}
"""
_HANDLES = {
    "MPI_Comm": "MPI_Comm_c2f(MPI_COMM_SELF)", "MPI_Datatype": "MPI_Type_c2f(MPI_INT)", "MPI_Op": "MPI_Op_c2f(MPI_SUM)",
    "MPI_Request": "MPI_Request_c2f(MPI_REQUEST_NULL)", "MPI_Win": "MPI_Win_c2f(MPI_WIN_NULL)",
    "MPI_File": "MPI_File_c2f(MPI_FILE_NULL)", "MPI_Info": "MPI_Info_c2f(MPI_INFO_NULL)",
    "MPI_Group": "MPI_Group_c2f(MPI_GROUP_NULL)", "MPI_Message": "MPI_Message_c2f(MPI_MESSAGE_NULL)",
    "MPI_Errhandler": "MPI_Errhandler_c2f(MPI_ERRHANDLER_NULL)",
}  # fmt: skip


def _types(entry: Entry) -> tuple[str, str, bool]:
    """Parameters, result type, and True if the last argument is the error code."""
    has_error = entry.arguments[-1:] == ("ierror",)
    texts = [f"size_t l{i}" for i in range(len(entry.texts))]
    parameters = ", ".join([*(f"void *a{i}" for i in range(len(entry.arguments))), *texts]) or "void"
    return parameters, "void" if has_error else entry.function.result, has_error


def _twin(entry: Entry) -> str:
    parameters, result, has_error = _types(entry)
    n = len(entry.arguments)
    checks = [f'    expect("{entry.symbol}: {name}", a{i} == given[{i}]);' for i, name in enumerate(entry.arguments)]
    if has_error:
        last = f"a{n - 1}"
        # If the caller omits the error, the shim passes its own address only while the shim records the call.
        checks[-1] = f'    expect("{entry.symbol}: ierror", !given[{n - 1}] || {last} == given[{n - 1}]);'
        checks.append(f"    if ({last}) *(int *){last} = MPI_ERR_OTHER;")
    checks += [f'    expect("{entry.symbol}: length", l{i} == {LENGTH + i});' for i in range(len(entry.texts))]
    end = "" if result == "void" else "\n    return 0;"
    return f"{result} {entry.twin}({parameters})\n{{\n    called++;\n" + "\n".join(checks) + f"{end}\n}}"


def _values(entry: Entry) -> list[str]:
    """Statements that set arguments to predefined handles, which the shim can convert."""
    lines = []
    for meaning, argument in zip(entry.function.meanings or (), entry.function.arguments, strict=False):
        type_ = next((t for t in _HANDLES if t in argument.text.split()), None)
        if type_ and meaning.name in entry.arguments:
            lines.append(f"    places[{entry.arguments.index(meaning.name)}].number = {_HANDLES[type_]};")
    return lines


def _call(entry: Entry, absent_error: bool) -> str:
    n = len(entry.arguments)
    values = _values(entry)
    if entry.described:  # the first field of a descriptor is the address
        buffers = [m.name for m in entry.function.meanings or () if m.kind == "BUFFER"]
        values += [f"    places[{entry.arguments.index(b)}].word = &error;" for b in buffers if b in entry.arguments]
    if absent_error:
        values.append(f"    given[{n - 1}] = 0;")
    arguments = ", ".join([*(f"given[{i}]" for i in range(n)), *(str(LENGTH + i) for i in range(len(entry.texts)))])
    return "\n".join(
        [
            f"    begin({n});",
            *values,
            f"    {entry.symbol}({arguments});",
            f'    expect("{entry.symbol}", called == 1);',
        ]
    )


def program(entries: Sequence[Entry], errors_are_optional: bool) -> str:
    """The source of the program. The program prints a line for each fault; its exit code is 1 after any fault."""
    declared = [f"extern {_types(e)[1]} {e.symbol}({_types(e)[0]});" for e in entries]
    # MPI_Finalize comes last.
    order = sorted(entries, key=lambda e: e.function.name == "MPI_Finalize")
    # The first call that returns an index makes the shim ask the binding for its first index.
    calls = [*(_call(e, False) for e in entries if e.function.name == "MPI_Waitany"), "    warm = 1;"]
    for entry in order:
        calls.append(_call(entry, False))
        if errors_are_optional and _types(entry)[2]:
            calls.append(_call(entry, True))
    twins = [_twin(e) for e in {e.twin: e for e in entries}.values()]
    body = "\n".join(
        ["int main(void)\n{", "    MPI_Init(0, 0);", *calls, "    PMPI_Finalize();", "    return wrong != 0;\n}"]
    )
    return "\n".join([_HEAD, *twins, *declared, body]) + "\n"
