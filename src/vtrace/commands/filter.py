# SPDX-License-Identifier: BSD-3-Clause
"""Prepare: Check a filter file and show which of its rules match."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

import click

from vtrace.commands.score import fit_options, print_scores
from vtrace.console import CLICK_SETTINGS
from vtrace.errors import UsageError, VtraceError
from vtrace.paths import LIB
from vtrace.text import json_text, plain

_EXAMPLES = """\b
Examples:
  vtrace filter heat.filter                              check the file
  vtrace filter heat.filter --explain 'Grid::at(int)'
  vtrace filter heat.filter --explain MPI_Iprobe --rank 3
  vtrace filter heat.filter --explain malloc --group LIBC-MALLOC
  VT_FILTER_SPEC=heat.filter vtrace filter --explain step
  vtrace filter heat --top 30                            bytes and time of each region
  vtrace filter heat --fit 32M -o heat.filter            write a filter for at most 32 MB per process
"""
_ROOM = 1 << 16
_LIBRARIES = (("libvtrace-io.so", "LIBC-I/O"), ("libvtrace-mem.so", "LIBC-MALLOC"))
_GROUPS = (("MPI_", "MPI"), ("H5", "HDF5"), ("pthread_", "Pthreads"), ("!$omp", "OMP"), ("omp_", "OMP"))


@click.command(epilog=_EXAMPLES, context_settings=CLICK_SETTINGS)
@click.argument("file", required=False, type=click.Path(path_type=Path))
@fit_options
@click.option(
    "--top", metavar="N", type=click.IntRange(1),
    help="Show the N regions that fill most of the buffer; FILE is then a prefix of local files or an archive.",
)  # fmt: skip
@click.option(
    "--explain", "names", multiple=True, metavar="NAME", help="Show which rule matches this function or call."
)
@click.option(
    "--group",
    metavar="GROUP",
    help="The group of NAME: MPI, LIBC-I/O, LIBC-MALLOC, User... [default: by the name: MPI for MPI_, Pthreads for "
    "pthread_, OMP for !$omp and omp_, the groups of I/O and memory for functions of libc, else Application].",
)
@click.option("--rank", default=0, type=click.IntRange(0), help="Apply the rules of this rank.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, a list of objects.")
def command(
    file: Path | None,
    fit: int | None,
    output: Path | None,
    top: int | None,
    *,
    names: tuple[str, ...],
    group: str | None,
    rank: int,
    as_json: bool,
) -> int:
    """The default FILE is the value of VT_FILTER_SPEC. The runtime reads the file and reports rejected lines on
    standard error; the exit code of a check is then 1. With --fit or --top, FILE is a prefix of local files or an
    archive; the bytes are estimates: two events of 8 bytes per call, plus the records of MPI, I/O and memory.
    docs/filter.md describes both grammars.
    """
    if fit is not None or top is not None:
        if file is None:
            option = "--top" if fit is None else "--fit"
            raise UsageError(f"{option} without a trace", "vtrace filter PREFIX --fit 32M -o heat.filter")
        print_scores(str(file), fit, output, top or 1, as_json=as_json)
        return 0
    if output is not None:
        raise UsageError("-o needs --fit", "--fit SIZE sets the size that the filter must fit")
    path = file or Path(os.environ.get("VT_FILTER_SPEC") or "")
    if not path.name:
        raise UsageError("no filter file given", "name a FILE, or set VT_FILTER_SPEC")
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        raise VtraceError(
            f"{path}: {error.strerror}", "name an existing filter file; docs/filter.md has examples"
        ) from None
    os.environ["VT_FILTER_SPEC"] = str(path.absolute()).replace("%", "%%")
    runtime = ctypes.CDLL(str(LIB / "libvtrace.so.1"))
    runtime.vt_filter_explain.restype = ctypes.c_long
    runtime.vt_filter_explain.argtypes = [
        ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint32, ctypes.c_char_p, ctypes.c_size_t,
    ]  # fmt: skip
    found = [_explain(runtime, name, group or _group_of(name), rank) for name in names or ("",)]
    if as_json:
        click.echo(json_text(found if names else [{key: found[0][key] for key in ("rules", "refused")}], indent=2))
    elif not names:
        more = f", {found[0]['refused']} left out" if found[0]["refused"] else ""
        click.echo(plain(f"{path}: {found[0]['rules']} {'rule' if found[0]['rules'] == 1 else 'rules'}{more}"))
    else:
        for row in found:
            click.echo(plain(_sentence(row, path)))
    sys.stdout.flush()
    return 1 if found[0]["refused"] and not names else 0


def _group_of(name: str) -> str:
    """The group of a function: by the start of its name, or by the library of vtrace that records the function."""
    found = next((group for start, group in _GROUPS if name.startswith(start)), None)
    return found or next((group for library, group in _LIBRARIES if _defines(LIB / library, name)), "Application")


def _defines(library: Path, name: str) -> bool:
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    with library.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".dynsym")
        assert isinstance(table, SymbolTableSection), f"{library} has no dynamic symbols"
        return any(symbol["st_shndx"] != "SHN_UNDEF" for symbol in table.get_symbol_by_name(name) or [])


def _explain(runtime: ctypes.CDLL, name: str, group: str, rank: int) -> dict[str, object]:
    room = ctypes.create_string_buffer(_ROOM)
    limit = runtime.vt_filter_explain(os.fsencode(name), os.fsencode(group), rank, room, _ROOM)
    pattern, *numbers = room.value.decode(errors="replace").split("\n")
    line, rules, refused = map(int, numbers)
    return {"name": name, "limit": limit, "pattern": pattern, "line": line, "rules": rules, "refused": refused}


def _sentence(row: dict[str, object], path: Path) -> str:
    limit = row["limit"]
    times = f"is recorded {limit} time{'s' * (limit != 1)}"
    what = "is recorded" if limit == -1 else "is not recorded" if limit == 0 else times
    why = f"{path}:{row['line']}: {row['pattern']}" if row["line"] else f"none of the {row['rules']} rules matches"
    return f"{row['name']} {what}: {why}"
