# SPDX-License-Identifier: BSD-3-Clause
"""Resolves addresses to functions: recorded modules name the files, symbol tables of the files name the functions."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeVar

import numpy as np

from vtrace.io.common.arrays import Array, distinct
from vtrace.io.local.heads import open_file
from vtrace.symbols.debug_files import build_id_of, debug_file
from vtrace.symbols.demangle import inside, outlined_of, readable
from vtrace.symbols.indirect import resolvers
from vtrace.symbols.lines import Position, positions, statements, variable_positions
from vtrace.symbols.modules import File, Place
from vtrace.symbols.nmfile import at_or_before, read_nm
from vtrace.symbols.outlined import with_outlined_names

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
"""Elf64_Sym."""
_FUNCTION_TYPES = (2, 10)
_VARIABLE_TYPES = (1,)
_BINDING_RANK = np.array([2, 0, 1] + [3] * 13)
"""By STB_ number: at one address, a global symbol wins over a weak one, and a weak one over a local one."""

_SLED = 16
"""A function with sleds is recorded by the address after its first sled, at most this number of bytes from the
function's start."""
_UNKNOWN = "[unknown]"
FromFile = TypeVar("FromFile")


class Function(NamedTuple):
    """A function: name in the source, symbol, file and line of its declaration (None, 0 if unknown). end: its last line
    with code, 0 unknown."""

    name: str
    canonical: str
    file: str | None = None
    line: int = 0
    end: int = 0


@dataclass
class Symbols:
    """Functions by place. Collect all places first, then resolve each file once.

    run_start: ns since the epoch; a file without a build id that is newer has changed since the run."""

    run_start: int
    nm_files: Mapping[str, Path] = field(default_factory=dict)
    """Path of an executable -> output of nm --demangle --line-numbers, used instead of the symbol table."""
    functions: dict[Place, Function] = field(default_factory=dict)
    statements: dict[Place, Position] = field(default_factory=dict)
    """Lines of places within functions."""
    insides: dict[Place, str] = field(default_factory=dict)
    """Names of places within functions, such as heat+0x12, for places without a line."""
    warnings: list[str] = field(default_factory=list)

    def resolve(self, places: Iterable[Place]) -> None:
        """Finds the function of each place. Places of a missing or changed file get names like heat+0x1234, and a
        warning."""
        unknown = set(places) - self.functions.keys()
        self.functions |= {place: nameless(place) for place in unknown}
        for file, addresses in by_file(unknown):
            listed = self.listed(file, addresses)
            found = self.with_file(file, partial(_functions, path=file[0], addresses=addresses))
            self.functions |= {Place(file, a): function for a, function in (listed | (found or {})).items()}

    def find_statements(self, places: Iterable[Place]) -> None:
        """Finds the lines of places within functions; none for a missing or changed file."""
        for file, addresses in by_file(places):
            with suppress(Exception), open_file(Path(file[0])) as stream:  # resolve() warns
                elf = _elf(stream)
                if not self._changed(elf, *file):
                    of_debug = debug_file(elf, file[0])[1]
                    self.statements |= {Place(file, a): at for a, at in statements(of_debug, addresses).items()}

    def find_insides(self, places: Iterable[Place]) -> None:
        """Names places within functions by function and offset; none for a missing or changed file."""
        for file, addresses in by_file(places):
            if file[0] in self.nm_files:
                with suppress(OSError):  # resolve() warns
                    for a, known in at_or_before(read_nm(self.nm_files[file[0]]), addresses):
                        self.insides[Place(file, a)] = inside(known.name, a - known.address)
                continue
            with suppress(Exception), open_file(Path(file[0])) as stream:
                elf = _elf(stream)
                if not self._changed(elf, *file):
                    elf = debug_file(elf, file[0])[1]
                    holders = function_holders(elf, np.array(addresses, np.uint64))
                    holders = with_outlined_names(elf, holders, partial(function_holders, elf))
                    self.insides |= {Place(file, a): inside(name, a - start) for a, (start, name) in holders.items()}

    def call_at(self, place: Place) -> tuple[str, str | None, int]:
        """Returns the function that a call is made from, its file and line (None, 0: unknown), once resolve and
        find_statements have run."""
        function, at = self.functions[place], self.statements.get(place)
        if function == nameless(place):
            name = _UNKNOWN
        else:
            name = readable(function.canonical, at.fortran) if at else function.name
        return (name, at.file, at.line) if at and at.file else (name, None, 0)

    def with_file(self, file: File, work: Callable[[ELFFile], FromFile]) -> FromFile | None:
        """Returns the result of work on a module's ELF file; None, with a warning, for a missing or changed one."""
        path, _ = file
        is_of_kernel = "/" not in path  # linux-vdso.so.1: code that the kernel puts into each process
        if path in self.nm_files:
            return None
        try:
            with kernel_code() if is_of_kernel else open_file(Path(path)) as stream:
                elf = _elf(stream)
                if is_of_kernel and self._changed(elf, *file):
                    return None  # recorded under another kernel
                if not self._changed(elf, *file):
                    return work(elf)
                self.warnings.append(f"{path} has changed since the run: no names for its functions")
        except OSError as error:
            self.warnings.append(f"{path}: {error.strerror}: no names for its functions")
        except Exception as error:  # pyelftools may raise anything for a damaged file
            self.warnings.append(f"{path}: cannot be read ({error}): no names for its functions")
        return None

    def listed(self, file: File, addresses: Sequence[int]) -> dict[int, Function]:
        """The functions of a file that the user has a list of (VT_GNU_NMFILE); empty for other files."""
        path = self.nm_files.get(file[0])
        if path is None:
            return {}
        try:
            functions = read_nm(path)
        except OSError as error:
            self.warnings.append(f"VT_GNU_NMFILE {path}: {error.strerror}: no names for the executable's functions")
            return {}
        if not functions:
            self.warnings.append(f"VT_GNU_NMFILE {path} is not output of nm: no names for the executable's functions")
        found = at_or_before(functions, addresses)
        return {address: Function(known.name, known.name, known.file, known.line) for address, known in found}

    def _changed(self, elf: ELFFile, path: str, build_id: bytes) -> bool:
        if build_id or "/" not in path:
            return build_id != build_id_of(elf)
        return os.stat(path).st_mtime_ns > self.run_start


def kernel_code() -> BinaryIO:
    """The vDSO of this process, an ELF file in memory (vdso(7))."""
    with open("/proc/self/maps") as maps:
        at = next((line.split()[0] for line in maps if line.endswith("[vdso]\n")), None)
    if at is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "vdso")
    first, end = (int(part, 16) for part in at.split("-"))
    with open("/proc/self/mem", "rb", buffering=0) as memory:
        memory.seek(first)
        return io.BytesIO(memory.read(end - first))


def by_file(places: Iterable[Place]) -> list[tuple[File, list[int]]]:
    """The files of places in order, each with its addresses, ascending."""
    files: dict[File, list[int]] = {}
    for place in sorted({p for p in places if p.file is not None}, key=lambda p: p.address):
        files.setdefault(place.file, []).append(place.address)  # type: ignore[arg-type]
    return sorted(files.items())


def nameless(place: Place) -> Function:
    """A function named by its address, such as heat+0x1234, for a place without a known function."""
    name = f"{os.path.basename(place.file[0])}+{place.address:#x}" if place.file else f"{place.address:#x}"
    return Function(name, name)


def _elf(stream: BinaryIO) -> ELFFile:
    from elftools.elf.elffile import ELFFile  # costs a tenth of vtunify's start; many traces need no symbols

    return ELFFile(stream)


def _functions(elf: ELFFile, path: str, addresses: Sequence[int]) -> dict[int, Function]:
    elf = debug_file(elf, path)[1]
    holders = function_holders(elf, np.array(addresses, np.int64).astype(np.uint64))
    stubs = resolvers(elf, set(addresses) - holders.keys())
    of_resolvers = function_holders(elf, np.array(sorted({*stubs.values()}), np.uint64))
    holders |= {stub: of_resolvers[at] for stub, at in stubs.items() if at in of_resolvers}
    begins = {address: start if address - start <= _SLED else address for address, (start, _) in holders.items()}
    where = positions(elf, sorted({*begins.values()}))
    found = {}
    for address, (_, symbol) in holders.items():
        at = where.get(begins[address], Position())
        name = readable(symbol, at.fortran)
        if at.program and outlined_of(symbol) == "MAIN__":  # the main program, or the body of a construct of OpenMP
            name = at.program + name.removeprefix("MAIN__")
        found[address] = Function(name, symbol, at.file, at.line)
    return found


def variables(elf: ELFFile, path: str, addresses: Sequence[int]) -> dict[int, Function]:
    """Address -> the variable that contains the address: name, symbol, file and line."""
    elf = debug_file(elf, path)[1]
    holders = function_holders(elf, np.array(addresses, np.int64).astype(np.uint64), _VARIABLE_TYPES)
    where = variable_positions(elf, sorted({start for start, _ in holders.values()}))
    found = {}
    for address, (start, symbol) in holders.items():
        at = where.get(start, Position())
        found[address] = Function(readable(symbol, fortran=False), symbol, at.file, at.line)
    return found


def function_holders(
    elf: ELFFile, addresses: np.ndarray[Any, np.dtype[np.uint64]], types: tuple[int, ...] = _FUNCTION_TYPES
) -> dict[int, tuple[int, str]]:
    """Address -> start and symbol of the function, or another object of these types, that contains the address."""
    table, strings = _table(elf, types)
    table = table[np.lexsort((table["name"], _BINDING_RANK[table["info"] >> 4], table["value"]))]
    values = distinct(table["value"])
    found = {}
    for address, i in zip(addresses.tolist(), np.searchsorted(values, addresses, "right").tolist(), strict=True):
        if i == 0:
            continue
        symbol = table[np.searchsorted(table["value"], values[i - 1])]
        if address < int(symbol["value"]) + max(int(symbol["size"]), 1):
            name = _text(strings, int(symbol["name"])).split("@")[0]  # without the version, as in foo@@GLIBC_2.34
            found[address] = int(symbol["value"]), name
    return {address: (start, name) for address, (start, name) in found.items() if name}


class FunctionStarts:
    """Finds functions of a file by their symbols."""

    def __init__(self, elf: ELFFile) -> None:
        self._table, self._strings = _table(elf, _FUNCTION_TYPES)

    def named(self, symbol: str) -> list[int]:
        """The starts of the functions with this symbol, or with the compiler's suffix for a copy (name.part.0),
        ascending."""
        starts: set[int] = set()
        for word in (f"{symbol}\0".encode(), f"\0{symbol}.".encode()):
            at = self._strings.find(word)
            while symbol and at >= 0:
                begin = at + (word[0] == 0)
                if not _text(self._strings, begin).endswith(".cold"):
                    starts.update(self._table["value"][self._table["name"] == begin].tolist())
                at = self._strings.find(word, at + 1)
        return sorted(starts)


def function_sizes(elf: ELFFile, starts: Collection[int]) -> dict[int, int]:
    """The sizes in bytes of the functions that begin at these addresses."""
    table, _ = _table(elf, _FUNCTION_TYPES)
    found: dict[int, int] = {}
    for symbol in table[np.isin(table["value"], np.array(sorted(starts), np.uint64))]:
        found[int(symbol["value"])] = max(int(symbol["size"]), found.get(int(symbol["value"]), 0))
    return found


def _table(elf: ELFFile, types: tuple[int, ...]) -> tuple[Array, bytes]:
    """The defined symbols of these types in the symbol table, and the string table with their names."""
    section = elf.get_section_by_name(".symtab") or elf.get_section_by_name(".dynsym")
    if elf.elfclass != 64 or not elf.little_endian or section is None:
        return np.empty(0, _SYMBOL), b""
    table = np.frombuffer(section.data(), _SYMBOL)
    table = table[np.isin(table["info"] & 15, types) & (table["section"] != 0)]
    return table, elf.get_section(section["sh_link"]).data()


def _text(strings: bytes, start: int) -> str:
    return strings[start : strings.index(b"\0", start)].decode(errors="replace")


def function_names(path: Path, known: Collection[str]) -> set[str]:
    """The names in the source of the functions that a file defines, except functions whose symbol is in known.

    Raises OSError, ValueError for a stripped file, and any exception of pyelftools for a damaged file.
    """
    with open_file(path) as stream:
        elf = _elf(stream)
        if elf.get_section_by_name(".symtab") is None:
            raise ValueError("no symbol table")
        table, strings = _table(elf, _FUNCTION_TYPES)
    symbols = {_text(strings, start) for start in distinct(table["name"]).tolist()} - {"", *known}
    return {readable(outlined_of(symbol), fortran=False) for symbol in symbols}
