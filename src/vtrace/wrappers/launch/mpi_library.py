# SPDX-License-Identifier: BSD-3-Clause
"""Finds the MPI of a launcher, and the MPI library with which a process reaches the launcher's other processes."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, MutableMapping

from vtrace.wrappers.launch.program import holds

_OPENMPI, _MPICH = ("libmpi.so.40",), ("libmpi.so.12", "libmpich.so.12")
"""Sonames of both families; the last is MPICH's in Debian."""
_LAUNCHERS = {"MPICH": (b"hydra_pmi_proxy",), "Open MPI": (b"libopen-rte.so", b"libprrte.so", b"ompirun_")}
"""Texts in the file of an mpiexec: the name of Hydra's helper; names in Open MPI 4 and in Open MPI 5."""


def choose(environ: MutableMapping[str, str]) -> None:
    """Sets MPI4PY_LIBMPI to the library of the launcher's MPI, unless the user has set the variable.

    Wheels of mpi4py work with any MPI and would load the library beside Python. MPI4PY_LIBMPI is a list of files;
    mpi4py loads the first existing one.
    """
    if "MPI4PY_LIBMPI" in environ:
        return
    openmpi = "OMPI_COMM_WORLD_SIZE" in environ or ("PMIX_RANK" in environ and "PMI_RANK" not in environ)
    if not openmpi and "PMI_RANK" not in environ:
        return  # no launcher, or a launcher of an unknown MPI
    places = [environ.get("OMPI_LIBDIR_LOC", ""), _beside_launcher(), os.path.join(sys.prefix, "lib")]
    names = _OPENMPI if openmpi else _MPICH
    environ["MPI4PY_LIBMPI"] = os.pathsep.join(
        [*(os.path.join(place, name) for place in places if place for name in names), *names]
    )


def misfit(environ: Mapping[str, str]) -> str | None:
    """A message if MPI4PY_LIBMPI names another MPI than the launcher's, else None. With another MPI each rank would be
    alone in its MPI_COMM_WORLD, or no rank would start."""
    named = next((place for place in environ.get("MPI4PY_LIBMPI", "").split(os.pathsep) if os.path.exists(place)), "")
    library, started = family(named), launchers_family(environ)
    if library is None or started is None or library == started:
        return None
    return f"MPI4PY_LIBMPI={named} is a library of {library}, but a launcher of {started} started this process"


def family(library: str) -> str | None:
    """The MPI that a library belongs to, by its soname: Open MPI, MPICH or None."""
    name = os.path.basename(os.path.realpath(library))
    return "Open MPI" if name.startswith(_OPENMPI) else "MPICH" if name.startswith(_MPICH) else None


def launchers_family(environ: Mapping[str, str]) -> str | None:
    """The MPI of the launcher that started this process."""
    return "Open MPI" if "OMPI_COMM_WORLD_SIZE" in environ else "MPICH" if "PMI_RANK" in environ else None


def family_of_launcher(path: str) -> str | None:
    """The MPI of an mpiexec; None for other launchers, which start programs of any MPI."""
    return next((name for name, marks in _LAUNCHERS.items() if any(holds(path, mark) for mark in marks)), None)


def _beside_launcher() -> str:
    """The lib/ beside the bin/ of the parent process, which is the launcher; empty if unreadable."""
    try:
        return os.path.join(os.path.dirname(os.path.dirname(os.readlink(f"/proc/{os.getppid()}/exe"))), "lib")
    except OSError:
        return ""
