# SPDX-License-Identifier: BSD-3-Clause
"""The file of a job of 1000 ranks with 60 call paths each is smaller than 1 MB, and has all of them."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

import vtrace as vtrace_api
from support.build.run import names
from support.synthetic_runs.local_files import Chunk, block, encode, write_defs, write_head
from support.synthetic_runs.run_files import arrays, ending, rank_head, rank_name, world
from vtrace.commands.job_file import write
from vtrace.io.local import records as r
from vtrace.io.packed.job_row import read_job

RANKS, PATHS = 1000, 60
SECOND = 10**9
MEMBERS = np.arange(RANKS, dtype="<u4").tobytes()
REGIONS = [["REGION", 1 + number, f"MPI_Function_{number}", 4, 28, None, 0, None] for number in range(PATHS)]


def rows(chance: random.Random) -> np.ndarray:
    """The profile of a rank. Each path is called once, some or many times; no two times are equal."""
    made = np.zeros(1 + PATHS, r.PROFILE_ROW)
    made["number"], made["least"], made["entered"][0] = np.arange(1 + PATHS), 1000, 1000 + 100 * SECOND
    for number in range(1, 1 + PATHS):
        calls = (1, 1, 20, 5000)[number % 4]
        mean = chance.randrange(1000, 10**6)
        least, most = (mean, mean) if calls == 1 else (chance.randrange(mean), mean + chance.randrange(100 * mean))
        ticks = mean if calls == 1 else calls * mean + chance.randrange(calls)
        squares = mean**2 if calls == 1 else calls * (mean**2 + chance.randrange(mean**2))
        made[number]["what"], made[number]["turns"] = r.what("ENTER", number), 2 * calls
        made[number]["ticks"], made[number]["least"], made[number]["most"] = ticks, least, most
        made[number]["squares"] = squares & (1 << 64) - 1, squares >> 64
        made[number]["out"] = 8 * number * calls
    return made


def write_rank(where: Path, rank: int, profile: np.ndarray) -> None:
    head = rank_head(rank, RANKS, "job", start=1_700_000_000_000_000_000 + rank, forked=r.COUNTS)
    definitions = [*REGIONS, world(rank, RANKS), ["COMM_MEMBERS", 1, 0, 0, 7, MEMBERS], *ending({0: []})]
    write_defs(where / f"job.{rank_name(rank)}.def.z", arrays(definitions), **head)
    data = profile.tobytes()
    chunk = Chunk(content=r.PROFILE, thread=100 + rank)
    chunk.data += data
    stored = block(chunk, codec=r.CODEC_ZSTD, stored=encode(data, r.CODEC_ZSTD))
    (where / f"job.{rank_name(rank)}.events.z").write_bytes(write_head(r.EVENTS, **head) + stored)


def test_a_job_of_1000_ranks(tmp_path: Path) -> None:
    chance, job = random.Random(1), tmp_path / "heat-20261130T000000Z-node1-1.running"
    job.mkdir()
    profiles = [rows(chance) for _ in range(RANKS)]
    for rank, profile in enumerate(profiles):
        write_rank(job, rank, profile)
    write(str(job), 100.0)
    (name,) = names(tmp_path)
    file = tmp_path / name
    row = read_job(file)
    assert row is not None
    assert (row["ranks"], row["processes"]) == (RANKS, RANKS)
    assert file.stat().st_size < 1_000_000
    found = vtrace_api.open(file).recorded_profile
    assert found is not None
    for profile, table in zip(profiles, found.locations.values(), strict=True):
        assert (table["calls"] == profile["turns"] // 2).all()
        assert (table["inclusive"][1:] == profile["ticks"][1:]).all()
        assert (table["exclusive"][1:] == profile["ticks"][1:]).all()
        assert (table["min"][1:] == profile["least"][1:]).all()
        assert (table["max"][1:] == profile["most"][1:]).all()
        assert (table["out"] == profile["out"]).all()
