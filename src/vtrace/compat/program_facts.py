# SPDX-License-Identifier: BSD-3-Clause
"""Facts about the program and the collection that start the reports of the Instant and of the Advanced Profiler, and
the choice of processes that the reports show."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from vtrace.compat.fipp_costs import execution
from vtrace.errors import VtraceError

if TYPE_CHECKING:
    from vtrace.analysis.source import Source

_AUTO, _OPENMP = "AUTO", "OpenMP"
_Notes = TypeVar("_Notes", bound="Collected")


@dataclass
class Collected:
    """The notes that fipp -C and fapp -C write beside the archive: the facts of the collection that the archive lacks.
    The defaults are for archives that neither command has made. date: as ctime(3); frequency: MHz; event: of -H."""

    date: str = ""
    frequency: str = ""
    event: str = ""

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def read(cls: type[_Notes], path: Path) -> _Notes:
        """The notes in a file; the defaults without the file. Values of other types are ignored.

        Raises VtraceError for a file that cannot be read.
        """
        found = cls()
        try:
            values = json.loads(path.read_text()) if path.is_file() else {}
        except (OSError, ValueError) as error:
            raise VtraceError(f"{path}: cannot be read: {error}", "collect the data again") from None
        for name, value in values.items() if isinstance(values, dict) else ():
            if type(getattr(found, name, found)) is type(value):
                setattr(found, name, value)
        return found


def pick(numbers: Sequence[int], costs: Sequence[int], first: Iterable[int], most: int) -> list[int]:
    """Places in numbers: those of the numbers in first, then those with the highest costs, up to most places (0:
    all)."""
    named = [numbers.index(number) for number in dict.fromkeys(first) if number in numbers]
    rest = sorted(set(range(len(numbers))) - set(named), key=lambda place: (-costs[place], numbers[place]))
    return [*named, *rest][: most or None]


class _Numbered(Protocol):
    @property
    def number(self) -> int: ...


_NumberedProcess = TypeVar("_NumberedProcess", bound=_Numbered)


def inputs_of(processes: Sequence[_NumberedProcess], inputs: int, first: Sequence[int]) -> list[_NumberedProcess]:
    """The processes to read: the first inputs (0: all), and those of the numbers in first."""
    return [p for place, p in enumerate(processes) if not inputs or place < inputs or p.number in first]


def not_there(processes: Sequence[_NumberedProcess], first: Sequence[int]) -> str | None:
    """A line about the numbers of -p that no process has, which the guide disregards; None: there are none."""
    numbers = [p.number for p in processes]
    missing = ", ".join(str(number) for number in dict.fromkeys(first) if number not in numbers)
    has = f"{min(numbers)} to {max(numbers)}" if len(numbers) > 1 else f"only {numbers[0]}" if numbers else "none"
    return f"-p: there is no process {missing} (the archive has {has}): disregarded" if missing else None


def collection(trace: Source, date: str, frequency: str, numbers: Sequence[int]) -> list[tuple[str, str]]:
    """Measured time and frequency (MHz); date, frequency: as noted by the collection, or ""; numbers: of processes."""
    begun = trace.start
    date = date or (time.strftime("%c", time.localtime(begun / 1e9)) if begun else "unknown")
    first, last = (numbers[0], numbers[-1]) if numbers else (0, 0)
    return [("Measured time", date), ("CPU frequency", f"Process {first} - Process {last} {frequency or '--'} (MHz)")]


def virtual_coordinate(trace: Source) -> str:
    """The lengths of the largest Cartesian communicator, 0 for dimensions that it lacks; else (ranks, 0, 0)."""
    grids = trace.topologies.take(trace.places.grids())
    shapes = [(int(x), int(y), int(z)) for x, y, z in zip(*(grids[axis] for axis in "xyz"), strict=True)]
    ranks = int((trace.processes["rank"] >= 0).sum())
    shape = max(shapes, key=lambda shape: math.prod(length or 1 for length in shape), default=(ranks, 0, 0))
    return f"({', '.join(map(str, shape))})"


def program_type(trace: Source, mpi: bool, threads: bool, names: Iterable[str]) -> str:
    """The execution format of the application. threads: several in a process; names: of procedures, by the guide."""
    ways = {execution(name) for name in names}
    by_events = (
        "OpenMP" in trace.regions.classes and (trace.regions["class"] == trace.regions.classes.index("OpenMP")).any()
    )
    way = _AUTO if _AUTO in ways else _OPENMP if _OPENMP in ways or by_events else ""
    if not threads:
        return "MPI" if mpi else "SERIAL"
    kind = "MPI" if mpi else "Thread"
    return f"{kind} ({way})" if way else kind
