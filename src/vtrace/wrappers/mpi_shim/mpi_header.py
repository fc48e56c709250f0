# SPDX-License-Identifier: BSD-3-Clause
"""The functions of an MPI: prototypes from its preprocessed mpi.h, meanings of arguments from the MPI Forum's data."""

from __future__ import annotations

import functools
import importlib.resources
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Argument:
    """A parameter in the header: text "const int ranks[]", name "ranks"."""

    text: str
    name: str


@dataclass(frozen=True)
class ArgumentMeaning:
    """A parameter in the standard: name, kind (such as "COMMUNICATOR"), direction (in, out, inout), array or not."""

    name: str
    kind: str
    direction: str
    array: bool


@dataclass(frozen=True, kw_only=True)
class MpiFunction:
    """A function of the header. meanings: None if the standard's data lacks the function."""

    name: str
    result: str
    arguments: tuple[Argument, ...]
    variadic: bool
    meanings: tuple[ArgumentMeaning, ...] | None

    @property
    def pairs(self) -> list[tuple[ArgumentMeaning, Argument]]:
        """Each argument's meaning in the standard and its declaration in mpi.h."""
        return list(zip(self.meanings or (), self.arguments, strict=False))


REMOVED = """
int MPI_Address(void *location, MPI_Aint *address);
int MPI_Errhandler_create(void (*handler_fn)(MPI_Comm *, int *, ...), MPI_Errhandler *errhandler);
int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *errhandler);
int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler);
int MPI_Type_extent(MPI_Datatype datatype, MPI_Aint *extent);
int MPI_Type_hindexed(int count, int array_of_blocklengths[], MPI_Aint array_of_displacements[],
                      MPI_Datatype oldtype, MPI_Datatype *newtype);
int MPI_Type_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype *newtype);
int MPI_Type_lb(MPI_Datatype datatype, MPI_Aint *displacement);
int MPI_Type_struct(int count, int array_of_blocklengths[], MPI_Aint array_of_displacements[],
                    MPI_Datatype array_of_types[], MPI_Datatype *newtype);
int MPI_Type_ub(MPI_Datatype datatype, MPI_Aint *displacement);
"""
"""Functions that MPI-3.0 removed. The Forum's data lacks these functions and newer headers do not declare them, but
libraries still export them for old programs. The data also lacks MPI_Session_set_info, which needs no entry: the shim
records only its enter and leave."""

_ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)")
_PROTOTYPE = re.compile(
    r"(?:^|(?<=[;}\n]))\s*(?:extern\s+)?([A-Za-z_][\w ]*?[\s*]+)(P?MPIX?_\w+)\s*\(((?:[^();]|\([^()]*\))*)\)\s*;"
)
_PARAMETER = re.compile(
    r"^(?P<before>.*?\(\s*\*\s*|.*?[\s*])(?P<name>[A-Za-z_]\w*)(?P<after>\s*(?:\[.*\]|\)\s*\(.*\))?)$", re.DOTALL
)
_TYPE_WORDS = {"int", "char", "void", "double", "float", "long", "short", "unsigned", "const"}


def prototypes(preprocessed: str) -> dict[str, tuple[str, tuple[Argument, ...], bool]]:
    """Name -> (result type, arguments, variadic) of all MPI_, PMPI_, MPIX_ and PMPIX_ functions in the text."""
    text = _ATTRIBUTE.sub("", re.sub(r"^\s*#.*$", "", preprocessed, flags=re.MULTILINE))
    found: dict[str, tuple[str, tuple[Argument, ...], bool]] = {}
    for result, name, inside in _PROTOTYPE.findall(text):
        parameters = [" ".join(part.split()) for part in _split_commas(inside)]
        variadic = parameters[-1:] == ["..."]
        named = [part for part in parameters if part not in ("", "void", "...")]
        found[name] = (" ".join(result.split()), tuple(_argument(p, i) for i, p in enumerate(named)), variadic)
    return found


def _split_commas(text: str) -> list[str]:
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _argument(text: str, index: int) -> Argument:
    match = _PARAMETER.match(text)
    if match and match["name"] not in _TYPE_WORDS and match["before"].strip() not in ("const", "struct"):
        return Argument(text, match["name"])
    stars = re.fullmatch(r"(.*?)((?:\s*\[.*\])?)", text, re.DOTALL)
    assert stars is not None
    return Argument(f"{stars[1]} a{index}{stars[2]}", f"a{index}")


def functions(preprocessed: str, library: Path) -> list[MpiFunction]:
    """The functions that can be wrapped, sorted by name: the header declares them, or MPI-3.0 removed them, and the
    library exports them and their PMPI_ twins."""
    declared = prototypes(REMOVED) | prototypes(preprocessed)
    exported = exported_symbols(library)
    meanings = standard()
    return [
        MpiFunction(name=name, result=result, arguments=arguments, variadic=variadic, meanings=meanings.get(name))
        for name, (result, arguments, variadic) in sorted(declared.items())
        if not name.startswith("P") and {name, f"P{name}"} <= exported
    ]


def hidden(preprocessed: str) -> set[str]:
    """Removed functions that the header does not declare."""
    return prototypes(REMOVED).keys() - prototypes(preprocessed).keys()


def exported_symbols(library: Path) -> set[str]:
    """Names of the functions that a shared library defines."""
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    with library.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".dynsym")
        assert isinstance(table, SymbolTableSection), f"{library} has no dynamic symbols"
        return {s.name for s in table.iter_symbols() if s["st_shndx"] != "SHN_UNDEF" and "mpi" in s.name.lower()}


def soname(library: Path) -> str:
    """The DT_SONAME of a shared library; its file name without one."""
    from elftools.elf.dynamic import DynamicSection
    from elftools.elf.elffile import ELFFile

    with library.open("rb") as file:
        section = ELFFile(file).get_section_by_name(".dynamic")
        tags = list(section.iter_tags("DT_SONAME")) if isinstance(section, DynamicSection) else []
        return str(vars(tags[0])["soname"]) if tags else library.name


@functools.cache
def forum_data() -> dict[str, Any]:
    """The functions of the standard in the MPI Forum's data, by name in lower case."""
    found: dict[str, Any] = json.loads((importlib.resources.files("pympistandard") / "data" / "apis.json").read_text())
    return found


@functools.cache
def standard() -> dict[str, tuple[ArgumentMeaning, ...]]:
    """Name -> meanings of the C parameters, for all functions of the MPI standard, with large-count functions."""
    known: dict[str, tuple[ArgumentMeaning, ...]] = {}
    for entry in forum_data().values():
        traits = entry["attributes"]
        if not traits["c_expressible"] or traits["callback"] or traits["predefined_function"]:
            continue
        parameters = [p for p in entry["parameters"] if "c_parameter" not in (p["suppress"] or "")]
        small = [p for p in parameters if not p["large_only"]]
        known[entry["name"]] = tuple(_meaning(p) for p in small)
        if any(p["kind"].startswith("POLY") or p["large_only"] for p in parameters):
            known[entry["name"] + "_c"] = tuple(_meaning(p) for p in parameters)
    return known


def _meaning(parameter: dict[str, str]) -> ArgumentMeaning:
    return ArgumentMeaning(
        parameter["name"], parameter["kind"], parameter["param_direction"], parameter["length"] not in (None, "")
    )
