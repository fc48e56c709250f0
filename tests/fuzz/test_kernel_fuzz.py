# SPDX-License-Identifier: BSD-3-Clause
"""libFuzzer on the C kernel: see kernel.c, and ends.c for the repair. VT_FUZZ_SECONDS limits the time, VT_FUZZ_RUNS the
number of inputs. Findings stay in build/fuzz."""

from __future__ import annotations

import lzma
import os
import re
import shutil
import struct
from base64 import b64decode, b64encode
from pathlib import Path

import pytest

from support.synthetic_runs.local_files import Chunk, varint
from support.synthetic_runs.operations import IO, ONE_SIDED, THREADS
from support.synthetic_runs.transcoding import MPI
from support.tools import ROOT, call, need_sanitizer
from vtrace.io.local import records as r

SECONDS = int(os.environ.get("VT_FUZZ_SECONDS", "0")) // 2 or 8
RUNS = os.environ.get("VT_FUZZ_RUNS")
"""Number of inputs; if set, there is no limit of time."""
SOURCES = ROOT / "csrc"
STRANGER = (
    "ARUc9RQFCAIFFWpqagUCBRYFAQgCEwUCFPvrCAgEEwcWBQEIBwEAYDAAAALt+v3rBBQIAhMFAhT76wgIBBMHFgUBCAcBAGAwAAAC7fr96wQU9/4EEwUI"
    "AgUVBQIU9sL29vb2CAQTBxb3/gQTBQgCBRUFAhT2wvf29vYIBBMHFgUBCAcoAQA="
)
"""An input of ends.c: a process takes part in collectives of a communicator without being a member."""
BEFORE_ZERO = (
    "5AABAQKXCAgBFvb+CAgCChcFBQQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABQN5AD/AAAAAP///3AAYAAACFYAAF8AAD0AAP//ABUF"
    "AgEWBQEICAICFwU=",
    "5AABAQIICAEWBQEICAICFwUFBBQN5AD/AAAAAP///3AAYAAACFYAAF8AAAAAAP//ABUFAgEWBQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEICAICFwU=",
)
"""Inputs of ends.c: a receive before the archive's zero puts its clock forward."""
ONE_MOMENT = "5HoAEAEAAAIEC/wAAfwMAAAAAAwAAgAACwQCAA=="
"""An input of ends.c: a process sends and receives at one moment, and the answer puts its clock forward."""
CHUNK, WRONG_CHECKSUM, STORED, RAW_BYTES, DEFINITIONS = 1, 2, 4, 8, 16
PROGRESS = re.compile(r"#\d+\s+(NEW|REDUCE|RELOAD|pulse)\b")
FLAGS = [
    "-g", "-O1", "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=undefined", "-Wall", "-Wextra",
    "-Dmadvise=vt_fuzz_madvise",
]  # fmt: skip


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The objects of the kernel, for both programs."""
    return compiled(tmp_path_factory.mktemp("parts"), SOURCES)


def compiled(directory: Path, sources: Path) -> list[Path]:
    kernel = [*sorted((sources / "otf2_writer").glob("*.c")), sources / "core" / "columns.c"]
    kernel += [sources / "otf2_reader" / "events.c"]  # for listeners
    done = call([need_sanitizer("clang", "fuzzer"), *FLAGS, f"-I{sources}", "-c", *kernel], directory)
    assert not done.stderr, str(done)
    return sorted(directory.glob("*.o"))


def build(directory: Path, sources: Path, parts: list[Path], target: str = "kernel") -> Path:
    program = directory / target
    words = [need_sanitizer("clang", "fuzzer"), *FLAGS, f"-I{sources}", Path(__file__).with_name(f"{target}.c")]
    done = call([*words, *parts, "-o", program], directory)
    assert not done.stderr, str(done)
    return program


def options(fail: int = 0, ticks: tuple[int, ...] = (1000, 2000), ns: tuple[int, ...] = (0, 1000)) -> bytes:
    pad = (0,) * (4 - len(ticks))
    return struct.pack("<HB5x8Q", fail, len(ticks), *ticks, *pad, *ns, *pad)


def piece(chunk: Chunk, codec: int, how: int = 0, step: int = 0, payload: bytes | None = None) -> bytes:
    """struct piece of kernel.c, followed by its open regions and its records."""
    data = bytes(chunk.data) if payload is None else payload
    numbers = (how, codec, step, len(chunk.open), len(data), chunk.classes, len(chunk.data), 0)
    head = struct.pack("<4B2H2I2Q", *numbers, chunk.ticks, chunk.end_ticks)
    return head + struct.pack(f"<{len(chunk.open)}Q", *chunk.open) + data


def seeds(directory: Path) -> Path:
    """Inputs with every kind of record, codec and form, times before and after the knots, missing chunks, and an event
    that OTF2 refuses.
    """
    directory.mkdir()
    every = Chunk(open=[r.FUNCTION | 1, r.what("ENTER", 2), r.OPEN_ADDRESS | 0x7001]).enter(1).enter(2, 5)
    for kind, identifier, payload, *_ in [*MPI, *ONE_SIDED, *IO, *THREADS]:
        every.record("ATTRIBUTE", 1, identifier, 1).record(kind, 1, identifier, *payload)
    every.record("ENTER", 1, 2).record("ENTER_ADDRESS", 1, 0, 0x7001).leave(1, 3).record("METRIC", 1, 0, 77)
    every.record("OFF", 1).record("ON", 2).record("FLUSH", 1, 0, 500).record("LOST", 0, 1, 3)
    every.record("LIMIT", 0, 6, r.CLASS_FIRST).record("LIMIT", 0, 4, r.CLASS_ALL)
    every.record("TIME", 0, 0, 1 << 40).record("THREAD", 1, 0, 4711).record("LEAVE", 1, 2).leave(2)
    every.record("LEAVE_ADDRESS", 1, 0, 0x7001).record("ENTER_ALLOC", 1, 2, 80).record("LEAVE_ALLOC", 1, 2, 9, 80, 1)
    every.record("ENTER_REALLOC", 1, 2, 9, 80, 100).record("LEAVE_ALLOC", 1, 2, 7, 100, 1).record("HEAP", 1, 0, 3, 1)
    every.record("ENTER_FREE", 1, 2, 7, 100, 0, 0).record("LEAVE", 1, 2)
    every.record("REWIND_MARK", 1).record("REWOUND", 1, 0, 40).record("MARKER", 1, 1, 2).record("COMMENT", 1, 0, 1)
    every.record("USER_SEND", 1, 1, 7, 80).record("USER_RECV", 1, 1, 7, 80)
    every.record("SECTION", 1, 1, 1).record("SECTION", 1, 1, 0)
    early = Chunk(ticks=10).enter(1).leave(1, 3)
    one = piece(every, r.CODEC_RAW)
    found = {
        **{f"codec{n}": options() + piece(every, n) for n in range(4)},
        "chunk": options() + piece(every, 0, CHUNK) + piece(early, 0, CHUNK, 1),
        "hole": options(ticks=(5, 1500, 1 << 60), ns=(3, 4, 1 << 62)) + one + piece(every, 2, 0, 2) + piece(early, 3),
        "refused": options(fail=7) + one,
        "checksum": options() + one + piece(every, 1, WRONG_CHECKSUM),
        "stored": options() + piece(every, r.CODEC_VARINT, STORED | RAW_BYTES, 0, varint(bytes(every.data))),
        "definitions": options() + piece(every, 1, DEFINITIONS),
    }
    for kind, identifier, payload, *_ in [
        *MPI,
        *ONE_SIDED,
        *IO,
        *THREADS,
    ]:  # each alone, so that no other record refers to the same object
        found[kind] = options() + piece(Chunk().record(kind, 1, identifier, *payload), r.CODEC_RAW)
    team = Chunk().record("THREAD_FORK", 1, 1, 2 | 1 << 32).record("THREAD_TEAM_BEGIN", 1, 3, 2 | 1 << 32, 0)
    team.record("THREAD_TASK_CREATE", 1, 0, 1, 3).record("THREAD_TASK_BEGIN", 1, 4, 1, 3)
    team.record("THREAD_TASK_END", 1, 4, 1, 3, 0).record("THREAD_TEAM_END", 1, 5, 1 << 32)
    team.record("THREAD_JOIN", 1, 1, 1 << 32).record("THREAD_TEAM_JOINED", 1, 0, 7)
    found["team"] = options() + piece(team, r.CODEC_RAW)
    transfer = Chunk().enter(1).record("IO_READ", 1, 1, 8).record("IO_DONE", 1, 1, 8).leave(1)
    found["transfer"] = options() + piece(transfer, r.CODEC_RAW)
    for name, data in found.items():
        (directory / name).write_bytes(data)
    return directory


def programs(directory: Path) -> Path:
    """Inputs of ends.c: messages, requests and collectives with both ends."""
    directory.mkdir()
    number = {name: i for i, name in enumerate(r.KINDS)}

    def record(location: int, kind: str, *payload: int) -> bytes:
        return bytes([location, number[kind], 5, *payload])

    parts = bytes([0b11100100, 0, 1, 1, 2, 0, 255, 2])
    # Peer 2 is process 2 with first location 4; its peer 0 is process 0. Communicator 1 has the ranks in reverse order.
    there = record(0, "SEND", 2, 8) + record(0, "ISEND", 2, 8, 3) + record(1, "REQUEST_CANCELLED", 3)
    back = record(4, "IRECV_REQUEST", 1) + record(4, "RECV", 0, 8) + record(4, "IRECV", 0, 8, 1)
    all_of = [record(2 * rank, "COLL_BEGIN") + record(2 * rank, "COLL_END", 11, 8, 8) for rank in range(4)]
    later = [record(n, "COLL_REQUEST", 2) + record(n + 1, "COLL_COMPLETE", 1, 8, 8, 2) for n in range(0, 8, 2)]
    for name, data in {"messages": there + back, "collectives": b"".join(all_of + later)}.items():
        (directory / name).write_bytes(parts + data)
    (directory / "stranger").write_bytes(b64decode(STRANGER))
    (directory / "one moment").write_bytes(b64decode(ONE_MOMENT))
    for n, data in enumerate(BEFORE_ZERO):
        (directory / f"before zero {n}").write_bytes(b64decode(data))
    sent, back, received = [4, number["SEND"], 252, 0, 8], [0, number["TIME"], 0, 255], [0, number["RECV"], 0, 2, 8]
    one_chunk, later = bytes([*parts[:-1], 0]), [0, number["TIME"], 252, 0]
    (directory / "before zero").write_bytes(one_chunk + bytes([*sent, *back, *received, *later]))
    # A posted receive of a sent message, without an end.
    posted = [4, number["IRECV"], 4, 0, 8, 1, 4, number["IRECV_REQUEST"], 4, 1]
    (directory / "no end").write_bytes(one_chunk + bytes([0, number["SEND"], 4, 2, 8, *posted]))
    # Descending ticks, as in a damaged file: the first receive has the later time.
    twice = [0, number["RECV"], 8, 2, 8, *back, *received]
    (directory / "descending").write_bytes(one_chunk + bytes([*sent, *sent, *twice, *later]))
    return directory


def fuzz(program: Path, directory: Path, seconds: int) -> tuple[int, str]:
    """Runs libFuzzer; returns its exit code, and its output without progress, with the inputs found as base64 of xz: a
    test run's log is enough to repeat a finding. Inputs with new coverage stay in the corpus under directory."""
    corpus, found = directory / "corpus", directory / "found"
    for path in (corpus, found):
        path.mkdir(exist_ok=True)
    # The sanitizer uses most of the memory, and huge pages multiply its use.
    limits = ["-max_len=8192", "-timeout=60", "-malloc_limit_mb=256", "-rss_limit_mb=8192"]
    words = [program, f"-runs={RUNS}" if RUNS else f"-max_total_time={seconds}", *limits, "-seed=1"]
    known = seeds(directory / "seeds") if program.name == "kernel" else programs(directory / "seeds")
    done = call([*words, f"-artifact_prefix={found}/", corpus, known], directory,
                check=False, timeout=36_000 if RUNS else seconds + 120)  # fmt: skip
    text = "\n".join(line for line in done.stderr.splitlines() if not PROGRESS.match(line))
    for path in sorted(found.iterdir()):
        text += f"\n{path.name}: {b64encode(lzma.compress(path.read_bytes())).decode()}"
    return done.returncode, text


def test_the_kernel_takes_anything(parts: list[Path], tmp_path: Path) -> None:
    where = tmp_path
    if "VT_FUZZ_SECONDS" in os.environ:  # keeps the corpus of a long run
        where = ROOT / "build" / "fuzz"
        where.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(where / "seeds", ignore_errors=True)
    code, text = fuzz(build(tmp_path, SOURCES, parts), where, SECONDS)
    assert code == 0, text
    assert "Done" in text


def test_the_repair_takes_anything(parts: list[Path], tmp_path: Path) -> None:
    code, text = fuzz(build(tmp_path, SOURCES, parts, "ends"), tmp_path, SECONDS // 2 + 1)
    assert code == 0, text
    assert "Done" in text


MISTAKES = {
    "time runs backwards": ("transcode.c", "t < p->last || early", "early"),
    "an id is not mapped": ("transcode.c", "if (comm == VT_UNMAPPED) return VT_OK; /* c", "/* c"),
    "a record is cut": ("transcode.h", "expected <= n - at", "at < n"),
    "a block is too large": ("decode.c", "row->raw_bytes > VT_RAW_MAX ||", ""),
    "the scan misses one": ("scan.c", "return add(&f->comms, id)", "return kind == VT_K_IRECV || add(&f->comms, id)"),
    "the scan misses a handle": (
        "scan.c",
        "return add(&f->handles, id)",
        "return kind == VT_K_IO_DONE || add(&f->handles, id)",
    ),
    "a heap below nothing": ("heap.c", "j->total[i] > 0 ? (uint64_t)j->total[i] : 0", "(uint64_t)j->total[i]"),
    "threads in no order": ("heap.c", "x->ns < y->ns", "x->ns > y->ns"),
    "a window is not mapped": ("rma_events.c", "if (win == VT_UNMAPPED) return VT_OK;", ""),
    "an unknown flag of I/O": ("io_events.c", "high <= STATUS_FLAGS", "1"),
    "an attribute twice": ("attribute.c", "[i] == id) return", "[i] == id && p->depth > 9) return"),
    "a message of users is not counted": ("user_events.c", "p->messages++", "p->messages"),
    "an end twice": ("ends.c", "if (place & EARLY) return VT_OK;", ""),
    "attributes of another event": ("transcode.c", "&& !passes_on(what)", "&& !passes_on(what) && what % 2"),
}


@pytest.mark.full
@pytest.mark.parametrize("what", MISTAKES)
def test_mistakes_are_found(tmp_path: Path, what: str) -> None:
    """The fuzzer finds a check removed from the kernel: otherwise its success would prove nothing."""
    shutil.copytree(SOURCES, tmp_path / "csrc")
    name, right, wrong = MISTAKES[what]
    file = tmp_path / "csrc" / "otf2_writer" / name
    text = file.read_text()
    assert right in text
    file.write_text(text.replace(right, wrong))
    target = "ends" if name in ("ends.c", "repair.c") else "kernel"
    parts = compiled(tmp_path, tmp_path / "csrc")
    code, _ = fuzz(build(tmp_path, tmp_path / "csrc", parts, target), tmp_path, 60)
    assert code != 0
