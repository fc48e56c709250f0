# SPDX-License-Identifier: BSD-3-Clause
"""Makes the local files of a traced program of any size, with known clock errors.

For example, 4 ranks on 2 hosts whose clocks differ by up to 2 s and 100 ppm, with 10 M events:

    python bench/synthetic.py work/big --ranks 4 --events 10e6 --offset 2 --drift 100 && vtunify work/big
"""

from __future__ import annotations

import argparse
import json
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
from synthetic_files import RUN, WORLD, Location, block, file_head, library
from synthetic_program import (
    EPOCH,
    FUNCTIONS,
    REGIONS,
    SLOT,
    START,
    Clocks,
    HostClocks,
    Program,
    Simulation,
    Times,
    main_step,
    thread_step,
)

from vtrace.io.local import records as r

WORDS = r.RAW_MAX // 8
_SLAB = 4_000_000
"""Words that are packed at a time."""
_MAIN = r.FUNCTION | SLOT + 16 * FUNCTIONS
_MEMBERS = 8000
_MASK = 0xFFFFFFFF
_PAIRED = 1_000_000_000
"""Ticks between two clock pairs: the runtime takes one at most once a second."""


class Writer:
    """Writes the files of a run, rank by rank."""

    def __init__(self, prefix: Path, program: Program, truth: bool) -> None:
        self.prefix, self.program, self.clocks = prefix, program, HostClocks(program)
        self.truth: dict[tuple[int, int], list[Times]] | None = {} if truth else None
        self.locations = [
            [Location(rank, n, self._path(rank, n, "events")) for n in range(program.threads)]
            for rank in range(program.ranks)
        ]

    def _path(self, rank: int, number: int, kind: str) -> Path:
        name = f"{rank + 1:x}" if not number and rank < 65535 else f"{(rank + 1) << 16 | number:x}"
        return self.prefix.with_name(f"{self.prefix.name}.{name}.{kind}.z")

    def begin(self, rank: int) -> None:
        """Writes the head of each file and the first block of the main thread: enter main, MPI_Init."""
        for location in self.locations[rank]:
            location.path.write_bytes(
                file_head(r.EVENTS, self.program, self.clocks, rank, location.number, self.prefix.name)
            )
        region = REGIONS.index("MPI_Init") + 1
        heads = np.array([[_MAIN, r.what("ENTER") + region, r.what("LEAVE") + region]], np.uint64)
        times = START + np.array([[0, 1000, 40_000]], np.int64)
        classes = r.CLASS_FUNCTION | r.CLASS_NEW_CODE | r.CLASS_REGION
        self._put(self.locations[rank][0], heads, heads=np.ones(3, bool), times=times, classes=classes, depth=0)
        for location in self.locations[rank][1:]:
            whole = np.array([[_MAIN]], np.uint64)
            self._put(
                location, whole, heads=np.ones(1, bool), times=START + np.array([[45_000]]), classes=classes, depth=0
            )

    def steps(self, rank: int, first: int, turns: dict[str, Times]) -> None:
        """Writes the blocks of some steps."""
        new = r.CLASS_NEW_CODE if not first else 0
        for location in self.locations[rank]:
            classes = r.CLASS_FUNCTION | new
            if location.number:
                table, heads, times = thread_step(self.program, rank, turns)
            else:
                table, heads, times = main_step(self.program, rank, first, turns)
                classes |= r.CLASS_REGION | r.CLASS_MESSAGE | r.CLASS_COLLECTIVE
            self._put(location, table, heads=heads, times=times, classes=classes, depth=1)

    def end(self, rank: int, last: int) -> None:
        """Writes MPI_Finalize, the leave of main, and the definitions."""
        region = REGIONS.index("MPI_Finalize") + 1
        words = np.array([[r.what("ENTER") + region, r.what("LEAVE") + region, _MAIN | r.FUNCTION_LEAVE]], np.uint64)
        times = last + np.array([[1000, 50_000, 51_000]], np.int64)
        classes = r.CLASS_FUNCTION | r.CLASS_REGION
        self._put(self.locations[rank][0], words, heads=np.ones(3, bool), times=times, classes=classes, depth=1)
        for location in self.locations[rank][1:]:
            whole = np.array([[_MAIN | r.FUNCTION_LEAVE]], np.uint64)
            self._put(location, whole, heads=np.ones(1, bool), times=last + np.array([[100]]), classes=classes, depth=1)
        for location in self.locations[rank]:
            self._define(location, last)

    def _put(self, location: Location, table: Any, heads: Any, times: Times, classes: int, depth: int) -> None:
        """Whole rows of a table (rows, words) as blocks."""
        host = location.rank // self.program.ranks_per_host
        ticks = self.clocks.at(host, times)
        if self.truth is not None:
            self.truth.setdefault((location.rank, location.number), []).append(times.reshape(-1))
        begin = location.ticks or int(ticks[0, 0])
        deltas = np.diff(ticks.reshape(-1), prepend=begin).clip(0).reshape(ticks.shape)
        table[:, heads] |= deltas.astype(np.uint64) << np.uint64(32)
        count = int(heads.sum())
        per_block = max(1, WORDS // table.shape[1])
        with open(location.path, "ab") as file:
            for at in range(0, len(table), per_block):
                part = table[at : at + per_block]
                last = int(ticks[at + len(part) - 1, -1])
                if begin >= location.paired + _PAIRED:
                    location.paired = begin
                pair = (location.paired, location.paired, EPOCH + location.paired)
                file.write(
                    block(
                        location, r.EVENTS, part.tobytes(), sequence=location.sequence, records=len(part) * count,
                        classes=classes, depth=depth, nopen=depth, ticks=begin, end_ticks=last, pair=pair,
                        open=np.array([_MAIN] * depth + [0] * (r.OPEN_MAX - depth), np.uint64),
                    )
                )  # fmt: skip
                location.sequence += 1
                classes &= ~r.CLASS_NEW_CODE  # each step calls all functions
                begin = last
        location.ticks = begin

    def _define(self, location: Location, last: int) -> None:
        path = self._path(location.rank, location.number, "def")
        parts, data = [], b""
        for array in self._definitions(location, last):
            packed = msgpack.packb(array, use_bin_type=True)
            if len(data) + len(packed) > r.RAW_MAX:
                parts.append(data)
                data = b""
            data += packed
        parts.append(data)
        head = file_head(r.DEFINITION_DATA, self.program, self.clocks, location.rank, location.number, self.prefix.name)
        blocks = [block(location, r.DEFINITION_DATA, part, sequence=i, records=1) for i, part in enumerate(parts)]
        path.write_bytes(head + b"".join(blocks))

    def _definitions(self, location: Location, last: int) -> list[list[Any]]:
        d, p, rank = r.DEFINITIONS, self.program, location.rank
        host = rank // p.ranks_per_host
        found: list[list[Any]] = [[d["LOCATION"], location.number, location.thread, None, location.ticks]]
        found.append([d["SUMMARY"], location.number, 1, 0, 0, 0, 0, 0, location.ticks, 0])
        if location.number:
            return found
        end = int(self.clocks.at(host, np.array([last + 60_000]))[0])
        found += [[d["PROPERTY"], "command", ["./synthetic"]], [d["CLOCK"], end, end, EPOCH + end]]
        found += [[d["REGION"], i + 1, name, 4, 0, None, 0] for i, name in enumerate(REGIONS)]
        found.append([d["COMM"], 1, r.COMM_KINDS["WORLD"], None, 0, 99, 0, p.ranks, rank, 0])
        for first in range(0, p.ranks if not rank else 0, _MEMBERS):
            ranks = np.arange(first, min(first + _MEMBERS, p.ranks), dtype="<u4").tobytes()
            found.append([d["COMM_MEMBERS"], 1, 0, first, WORLD, ranks])
        if p.hosts > 1 and p.clocks.measured:
            found.append([d["PROPERTY"], "clock", f"{host:x}"])
            if rank % p.ranks_per_host == 0 and host:
                found += self._offsets(host, last)
        return found

    def _offsets(self, host: int, last: int) -> list[list[Any]]:
        """Each host is measured against the host whose number lacks the lowest bit, as in the binomial tree of the
        shim."""
        c, peer = self.program.clocks, host & (host - 1)
        random = np.random.default_rng((self.program.seed, host))
        moments = np.linspace(START + 20_000, last + 20_000, max(c.measured, 1)).astype(np.int64)[: c.measured]
        wrong = random.integers(-c.error, c.error + 1, len(moments))
        there = self.clocks.at(peer, moments + wrong)
        return [
            [r.DEFINITIONS["CLOCK_OFFSET"], own, peer * self.program.ranks_per_host, other, c.error]
            for own, other in zip(self.clocks.at(host, moments).tolist(), there.tolist(), strict=True)
        ]


def write(prefix: Path, program: Program, truth: bool = False, jobs: int = 1) -> dict[tuple[int, int], Times]:
    """Writes the local files of a run under prefix. truth: returns the true times of each location's events."""
    writer, simulation = Writer(prefix, program, truth), Simulation(program)
    library()
    if program.words_of_step() > WORDS:
        raise ValueError(f"a step of {program.calls} calls does not fit into a block")
    ranks = range(program.ranks)
    slab = max(1, _SLAB // max(program.words_of_step(), 6 * program.ranks))
    with ThreadPoolExecutor(jobs) as pool:

        def each(work: Callable[[int], None]) -> None:
            deque(map(work, ranks) if jobs == 1 else pool.map(work, ranks), 0)

        each(writer.begin)
        for first in range(0, program.steps, slab):
            turns = simulation.run(min(slab, program.steps - first))
            each(partial(writer.steps, first=first, turns=turns))
        last = int(simulation.now.max())
        each(partial(writer.end, last=last))
    text = f"vtrace uctl 1\nrun {RUN.hex()}\nworld {WORLD:x}\nranks {program.ranks}\ntool synthetic\n"
    prefix.with_name(f"{prefix.name}.uctl").write_text(text)
    return {key: np.concatenate(parts) for key, parts in (writer.truth or {}).items()}


def main() -> None:
    """Entry point of the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix", type=Path)
    program, clocks = Program(), Clocks()
    for name in ("ranks", "threads", "calls", "ranks-per-host", "compute", "latency", "jitter", "tags", "seed"):
        parser.add_argument(f"--{name}", type=int, default=getattr(program, name.replace("-", "_")))
    for name in ("offset", "drift", "period"):
        parser.add_argument(f"--{name}", type=float, default=getattr(clocks, name))
    for name in ("wave", "error", "measured"):
        parser.add_argument(f"--{name}", type=int, default=getattr(clocks, name))
    parser.add_argument("--events", type=float, default=1e6, help="of all locations, about")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    values = vars(parser.parse_args())
    prefix, events, jobs = values.pop("prefix"), values.pop("events"), values.pop("jobs")
    of_clocks = {name: values.pop(name) for name in ("offset", "drift", "period", "wave", "error", "measured")}
    program = Program(**values, clocks=Clocks(**of_clocks))
    steps = max(1, round(events / program.ranks / program.events_of_step()))
    program = Program(**values, steps=steps, clocks=program.clocks)
    write(prefix, program, jobs=jobs)
    total = program.ranks * (program.steps * program.events_of_step() + 6 + 2 * (program.threads - 1))
    print(json.dumps({"locations": program.ranks * program.threads, "steps": steps, "events": total}))


if __name__ == "__main__":
    main()
