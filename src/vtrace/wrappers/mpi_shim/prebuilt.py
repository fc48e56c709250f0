# SPDX-License-Identifier: BSD-3-Clause
"""The MPI shims that a wheel brings, one for each ABI: with these vtrace run needs no compiler.

tools/prebuilt_shims.py builds a prebuilt shim against the newest MPI of an ABI, for the functions of all its versions.
fit() makes of it the shim for one library. The copy exports only wrappers of functions that the library has, because
programs look up functions by dlsym to find out whether an MPI has them. References to functions of MPI are weak, so
the rest stays NULL. Names of libraries and directories, which the build does not know, replace placeholders.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import zstandard

from vtrace import __version__, paths
from vtrace.wrappers.compile.toolchain import library_directory
from vtrace.wrappers.mpi_shim import fortran
from vtrace.wrappers.mpi_shim.generate import NOT_WRAPPED
from vtrace.wrappers.mpi_shim.installation import fortran_libraries
from vtrace.wrappers.mpi_shim.mpi_groups import matches
from vtrace.wrappers.mpi_shim.mpi_header import exported_symbols, soname

ABIS = {"libmpi.so.12": "mpich", "libmpich.so.12": "mpich", "libmpi.so.40": "openmpi", "libmpi_abi.so.1": "mpi-abi"}
"""Soname of a library -> name of its ABI: MPICH from 3.1 on with its derivatives, also under Debian's name; Open MPI 4
and 5; MPI 5's ABI."""

NEEDED = "libvtrace-placeholder-for-the-soname-of-an-mpi-library.so"
RUNPATH = ("/vtrace-placeholder-for-the-directories-of-libraries" * 20)[:1000]
BINDINGS = {key: f"libvtrace-placeholder-for-the-soname-of-a-fortran-binding-{key}.so" for key in fortran.BINDINGS}
"""Placeholders for the MPI library's soname, the directories of the libraries, and the sonames of Fortran bindings."""

_FORTRAN = {"mpi_send_", "mpi_send_f08_", "mpi_send_f08ts_"}
"""Entry points that show how a Fortran binding passes arguments."""
_SYMBOL = slice(6, 24)
"""The bytes of an Elf64_Sym with the place of the symbol's definition (st_shndx, st_value, st_size)."""


@dataclass(frozen=True, kw_only=True)
class Prebuilt:
    """A prebuilt shim for a library. abi: in ABIS; fortran: libraries of Fortran bindings; key: changes with all that
    the fitted shim depends on; file: the compressed shim."""

    abi: str
    library: Path
    fortran: tuple[Path, ...]
    key: str
    file: Path


def available() -> list[str]:
    """The ABIs of the prebuilt shims."""
    return sorted(file.name.partition(".")[0] for file in (paths.LIB / "shims").glob("*.so.zst"))


def find(library: Path) -> Prebuilt | None:
    """The prebuilt shim for the ABI of an MPI library; None if vtrace has none."""
    abi = ABIS.get(soname(library))
    file = paths.LIB / "shims" / f"{abi}.so.zst"
    if abi is None or not file.is_file():
        return None
    bindings = fortran_libraries(library)
    states = [(path, path.stat().st_size, path.stat().st_mtime_ns) for path in (library, *bindings)]
    digest = hashlib.sha256("\0".join(map(str, (__version__, *states, library_directory()))).encode())
    digest.update(file.read_bytes())
    return Prebuilt(abi=abi, library=library, fortran=bindings, key=digest.hexdigest()[:24], file=file)


def fit(prebuilt: Prebuilt) -> tuple[bytes, int] | None:
    """The shim for the library, and the number of wrapped C functions. None if the library has a function of the MPI
    standard without a wrapper: then the prebuilt shim is too old. Extensions (MPIX_) without a wrapper are allowed."""
    shim = bytearray(zstandard.ZstdDecompressor().decompress(prebuilt.file.read_bytes()))
    exported = exported_symbols(prebuilt.library)
    bound = set().union(*map(exported_symbols, prebuilt.fortran))
    wrappers = {name: at for name, at in _defined(bytes(shim)) if name.lower().startswith("mpi")}
    if _needed(exported, bound) - wrappers.keys():
        return None
    for name in wrappers.keys() - exported - bound:
        at = wrappers[name]
        shim[at + _SYMBOL.start : at + _SYMBOL.stop] = bytes(_SYMBOL.stop - _SYMBOL.start)
    names = {NEEDED: soname(prebuilt.library), RUNPATH: f"{prebuilt.library.parent}:{library_directory()}"}
    names |= {BINDINGS[binding.key]: binding.soname for binding in fortran.bindings(prebuilt.fortran)}
    for placeholder, name in names.items():
        if not _replace(shim, placeholder.encode(), name.encode()):
            return None
    return bytes(shim), sum(f"P{name}" in exported for name in wrappers.keys() & exported)


def _needed(exported: set[str], bound: set[str]) -> set[str]:
    """The functions in an MPI library and its Fortran bindings for which a shim needs wrappers."""
    of_c = {name for name in exported if name.startswith("MPI_") and f"P{name}" in exported}
    callbacks = {name for name in of_c if matches(name, NOT_WRAPPED)}
    return (of_c - callbacks) | (bound & _FORTRAN)


def _defined(shim: bytes) -> Iterator[tuple[str, int]]:
    """Name and offset in the file of each symbol that a shared library defines."""
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    table = ELFFile(BytesIO(shim)).get_section_by_name(".dynsym")
    assert isinstance(table, SymbolTableSection)
    for number, symbol in enumerate(table.iter_symbols()):
        if symbol["st_shndx"] != "SHN_UNDEF":
            yield symbol.name, table["sh_offset"] + number * table["sh_entsize"]


def _replace(shim: bytearray, placeholder: bytes, name: bytes) -> bool:
    """Replaces a placeholder; False if the name is longer, or the shim has no such placeholder."""
    at = shim.find(placeholder)
    if at < 0 or len(name) > len(placeholder):
        return False
    shim[at : at + len(placeholder)] = name.ljust(len(placeholder), b"\0")
    return True
