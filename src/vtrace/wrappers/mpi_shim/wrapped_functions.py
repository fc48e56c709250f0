# SPDX-License-Identifier: BSD-3-Clause
"""Lists the functions of an MPI that the shim records, and the extent of their records."""

from __future__ import annotations

from dataclasses import dataclass, field

from vtrace import paths
from vtrace.wrappers.mpi_shim import fortran, generate, mpi_groups, mpi_header
from vtrace.wrappers.mpi_shim.installation import Mpi

_ENTERED = ("MPI_Info_", "MPI_Type_")
"""Functions that record only enter and leave, although some of their wrappers keep data for later calls."""


@dataclass
class Coverage:
    """Names of an MPI's C functions by the records of their calls, and its wrapped Fortran entry points.

    records: full records; plain: enter and leave; off: not recorded by default, by group; left_out: not wrapped, by
    reason; fortran: entry points, by binding.
    """

    records: list[str] = field(default_factory=list)
    plain: list[str] = field(default_factory=list)
    off: dict[str, list[str]] = field(default_factory=dict)
    left_out: dict[str, list[str]] = field(default_factory=dict)
    fortran: dict[str, list[str]] = field(default_factory=dict)

    @property
    def wrapped(self) -> int:
        """Number of wrapped C functions."""
        return len(self.records) + len(self.plain) + sum(map(len, self.off.values()))


def coverage(mpi: Mpi) -> Coverage:
    """The coverage of the shim for an MPI, from the tables that generate the shim."""
    place = paths.LIB / "mpiwrap" / "templates"
    templates = generate.read_templates(place)
    nothing = (templates.sections["plain"], templates.sections["plain_void"])
    functions = generate.wrapped(mpi_header.functions(mpi.preprocessed, mpi.library))
    found = Coverage()
    for function in functions:
        group = mpi_groups.group(function.name)
        if not group.default:
            found.off.setdefault(group.name, []).append(function.name)
        elif function.name in generate.BY_HAND or (
            templates.of(function) not in nothing and not function.name.startswith(_ENTERED)
        ):
            found.records.append(function.name)
        else:
            found.plain.append(function.name)
    exported = mpi_header.exported_symbols(mpi.library)
    names = {function.name for function in functions}
    for name in sorted(mpi_header.prototypes(mpi.preprocessed)):
        if not name.startswith("P") and name not in names:
            found.left_out.setdefault(_why_not(name, exported), []).append(name)
    for binding in fortran.bindings(mpi.fortran):
        found.fortran[binding.name] = [entry.symbol for entry in fortran.entries(binding, functions)]
    return found


def _why_not(name: str, exported: set[str]) -> str:
    if mpi_groups.matches(name, generate.NOT_WRAPPED):
        return "predefined callbacks, whose addresses programs compare"
    return "no PMPI_ twin" if name in exported else "declared in mpi.h, but missing in the library"
