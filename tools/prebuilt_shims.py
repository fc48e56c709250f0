#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Builds the MPI shims that a wheel brings (make wheels), with the installed vtrace.

tools/prebuilt_shims.py DIR MPICC...     writes DIR/ABI.so.zst for the MPI of each MPICC, and prints the sizes

Take the newest MPI of each ABI: a shim fits libraries whose functions it wraps all (vtrace.wrappers.mpi_shim.prebuilt).
The MPI needs no Fortran bindings. Their entry points have the names of the C functions with endings that the MPIs
have in common, whatever the Fortran compiler; the wrappers are C.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import zstandard

from vtrace import paths
from vtrace.wrappers.mpi_shim import fortran, shim
from vtrace.wrappers.mpi_shim.fortran import Binding
from vtrace.wrappers.mpi_shim.installation import Mpi, find_mpi
from vtrace.wrappers.mpi_shim.mpi_header import MpiFunction, soname
from vtrace.wrappers.mpi_shim.prebuilt import ABIS, BINDINGS, NEEDED, RUNPATH

_WEAK = ("pmpi*", "PMPI*", "MPI*", "mpi*", "ompi_*")
"""Symbols of MPI libraries. All versions of an ABI lack some of them."""


def main() -> None:
    """Builds all shims."""
    into = Path(sys.argv[1])
    into.mkdir(parents=True, exist_ok=True)
    for mpicc in sys.argv[2:]:
        mpi = find_mpi(mpicc)
        assert mpi is not None
        abi = ABIS[soname(mpi.library)]
        with tempfile.TemporaryDirectory() as place:
            made = _build(mpi, abi, Path(place)).read_bytes()
        packed = zstandard.ZstdCompressor(level=19).compress(made)
        (into / f"{abi}.so.zst").write_bytes(packed)
        print(f"{abi}: {mpi.label}, {len(made):,} bytes, compressed {len(packed):,}")


def _build(mpi: Mpi, abi: str, place: Path) -> Path:
    """Builds a shim with placeholders, whose references to symbols of MPI are weak."""
    shim.write_source(mpi, place / "shim.c", lambda functions: _bindings(abi, functions))
    objects = []
    for source in sorted(place.glob("*.c")):
        objects.append(source.with_suffix(".o"))
        shim.compile_shim(mpi, source, objects[-1], ("-DVT_PREBUILT",))
        weaken = [f"--weaken-symbol={pattern}" for pattern in _WEAK]
        subprocess.run(["objcopy", "--wildcard", *weaken, objects[-1]], check=True)
    stub, target = place / "stub.so", place / shim.LIBRARY
    link = [*mpi.compiler, "-shared", "-Wl,-s"]
    subprocess.run([*link, f"-Wl,-soname,{NEEDED}", "-o", stub], check=True)
    needed = ["-Wl,--no-as-needed", stub, paths.LIB / "libvtrace.so.1", "-Wl,--as-needed", "-ldl", "-Wl,-z,defs"]
    found = ["-Xlinker", "-rpath", "-Xlinker", RUNPATH, "-Wl,--enable-new-dtags"]
    subprocess.run([*link, "-o", target, *objects, *needed, *found], check=True)
    return target


def _bindings(abi: str, functions: list[MpiFunction]) -> list[Binding]:
    """The Fortran bindings of all versions of an ABI; none for MPI 5's ABI, which leaves them to Fortran compilers."""
    if abi == "mpi-abi":
        return []
    return [
        Binding(
            name=name, key=key, soname=BINDINGS[key], symbols=frozenset(_symbols(abi, key, functions)), endings=endings
        )
        for key, (name, _, endings) in fortran.BINDINGS.items()
    ]


def _symbols(abi: str, key: str, functions: list[MpiFunction]) -> set[str]:
    """The entry points of a binding, all their spellings, and their PMPI twins."""
    found = set()
    for function in functions:
        kinds = {meaning.kind for meaning in function.meanings or ()}
        name, large = function.name.lower().removesuffix("_c"), function.name.endswith("_c")
        if key == "mpif" and not large:
            bases = [name, f"{name}_cptr"] if "C_BUFFER" in kinds else [name]
            for base in bases:
                found |= {base, f"{base}_", f"{base}__", base.upper(), f"p{base}_"}
        elif key == "f08":
            # MPICH passes choice buffers as descriptors (ts, for the technical specification), Open MPI as addresses.
            ending = "_f08ts_" if abi == "mpich" and "BUFFER" in kinds else "_f08_"
            symbol = f"{name}{ending}{'large_' if large else ''}"
            found |= {symbol, f"pmpir_{symbol[4:]}" if abi == "mpich" else f"p{symbol}"}
    return found


if __name__ == "__main__":
    main()
