# SPDX-License-Identifier: BSD-3-Clause
"""To which MPI a launcher belongs, and which library a process must load to talk to the others of its launcher."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, MutableMapping

from vtrace.wrappers.launch.program import holds

_OPENMPI, _MPICH = ("libmpi.so.40",), ("libmpi.so.12", "libmpich.so.12")
"""Sonames of both families; MPICH's in Debian is the last."""
_LAUNCHERS = {"MPICH": (b"hydra_pmi_proxy",), "Open MPI": (b"libopen-rte.so", b"libprrte.so", b"ompirun_")}
"""What the file of an mpiexec holds: the name of Hydra's helper; names in that of Open MPI 4 and of Open MPI 5."""


def choose(environ: MutableMapping[str, str]) -> None:
    """Names the library for mpi4py, whose wheels work with any MPI and would take the one beside Python.

    A list of files of which it takes the first that there is; what the user has set stays.
    """
    if "MPI4PY_LIBMPI" in environ:
        return
    openmpi = "OMPI_COMM_WORLD_SIZE" in environ or ("PMIX_RANK" in environ and "PMI_RANK" not in environ)
    if not openmpi and "PMI_RANK" not in environ:
        return  # alone, or a launcher that says nothing of its MPI
    places = [environ.get("OMPI_LIBDIR_LOC", ""), _beside_launcher(), os.path.join(sys.prefix, "lib")]
    names = _OPENMPI if openmpi else _MPICH
    environ["MPI4PY_LIBMPI"] = os.pathsep.join(
        [*(os.path.join(place, name) for place in places if place for name in names), *names]
    )


def misfit(environ: Mapping[str, str]) -> str | None:
    """Why the library that the user has named is hardly the right one: such leave each rank alone, or start none."""
    named = next((place for place in environ.get("MPI4PY_LIBMPI", "").split(os.pathsep) if os.path.exists(place)), "")
    library, started = family(named), launchers_family(environ)
    if library is None or started is None or library == started:
        return None
    return f"MPI4PY_LIBMPI={named} is a library of {library}, but a launcher of {started} has started this"


def family(library: str) -> str | None:
    """Whose MPI library a file is."""
    name = os.path.basename(os.path.realpath(library))
    return "Open MPI" if name.startswith(_OPENMPI) else "MPICH" if name.startswith(_MPICH) else None


def launchers_family(environ: Mapping[str, str]) -> str | None:
    """Whose launcher has started this process."""
    return "Open MPI" if "OMPI_COMM_WORLD_SIZE" in environ else "MPICH" if "PMI_RANK" in environ else None


def family_of_launcher(path: str) -> str | None:
    """To which MPI an mpiexec belongs; None for other launchers, which start programs of any MPI."""
    return next((name for name, marks in _LAUNCHERS.items() if any(holds(path, mark) for mark in marks)), None)


def _beside_launcher() -> str:
    """lib/ of the installation whose launcher is this process's parent."""
    try:
        return os.path.join(os.path.dirname(os.path.dirname(os.readlink(f"/proc/{os.getppid()}/exe"))), "lib")
    except OSError:
        return ""
