# SPDX-License-Identifier: BSD-3-Clause
"""A run with a record and a definition of every kind, and vtrace dump of it."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

from support.synthetic_runs.local_files import Chunk
from support.synthetic_runs.run_files import rank_head, rank_name, write_files
from support.tools import Done, call, command
from vtrace.io.local import records as r

D = r.DEFINITIONS
DEFINITIONS: list[list[Any]] = [
    [D["PROPERTY"], "command", ["./a", "two words"]],
    [D["REGION"], 1, "solve it", 1, 1, "a.c", 7],
    [D["REGION"], 2, "MPI_Send", 4, 28, None, 0],
    [D["MODULE"], 0x1000, 0x400000, 0x1000, 0x400000, "/nowhere/prog", b"\xab\xcd", 900],
    [D["MODULE_END"], 0x1000, 5000],
    [D["COMM"], 1, r.COMM_KINDS["WORLD"], None, 0, 0xFEED, 0, 2, 0, 0],
    [D["COMM"], 2, r.COMM_KINDS["SPLIT"], 1, 3, 0xBEEF, 0, 1, 0, 0],
    [D["COMM"], 3, r.COMM_KINDS["CART"], 1, 0, 0xBEEF, 0, 1, 0, 0],
    [D["COMM_MEMBERS"], 2, 0, 0, 7, struct.pack("<2I", 0, 1)],
    [D["COMM_NAME"], 2, "row\n0"],
    [D["LOCATION"], 0, 100, None, 1000],
    [D["METRIC"], 1, "degrees", "C", "f", "p", False],
    [D["METRIC"], 2, "balance", "#", "i", "a", True],
    [D["CLOCK"], 1, 2, 3],
    [D["SUMMARY"], 0, 4, 0, 1, 2, 3, 4, 2000, 0, struct.pack("<QQ", 250000, 1000)],
    [D["ATTRIBUTE"], 1, "offset", "where it begins", 7],
    [D["ATTRIBUTE"], 2, "share", "of all", 9],
    [D["IO_FILE"], 1, "/scratch/data.bin"],
    [D["IO_HANDLE"], 1, "data.bin", 1, 1, 0, None, None, None, None],
    [D["IO_HANDLE"], 2, "stdin", None, 2, 1, 1, 1, 0, 4],
    [D["RMA_WIN"], 1, 1, 0],
    [D["RMA_WIN"], 2, 1, 1],
    [D["RMA_WIN_NAME"], 1, "halo"],
    [D["GROUP"], 1, 1, 0, struct.pack("<2I", 1, 0)],
    [D["REGION_AT"], 4, "parallel", 3, 5, 0x400010],
    [D["TEAM"], 1, 3, 1, 0, 0],
    [D["LOST"], 3, 4, 17],
    [D["CALL_SITE"], 2, struct.pack("<2Q", 0x400010, 0x400020)],
    [D["CLOCK_OFFSET"], 1200, 0, 7200, 3],
    [D["TEXT"], 1, "step 3"],
    [D["MARKER"], 1, "steps", 3],
    [D["NOTE"], "made on a Monday"],
    [D["USER_COMM"], 1, "queue"],
    [D["MEMBER"], D["METRIC"], 1, "weather"],
    [D["SAMPLING"], 1, 10_000_000, 4_000_000, 64, None],
    [D["SAMPLES"], 0, 3, 30_000_000, 1, 0, 0, struct.pack("<5Q", 2, 1, 0, 0, 0)],
    [D["PYTHON_CODE"], 1, "Solver.step", "solve.py", 12, b"\x80\0"],
    [D["COMM_GRID"], 3, struct.pack("<I", 1), 1],
    [D["COMM_PEER"], 3, 1, 2],
    [D["METRIC_GROUP"], 4, ["page-faults", "cpu"], ["#", "#"], ["page faults", "number of the CPU"], "ap", True],
    [D["DATA_SITE"], 3, 0x400010, 0x404010],
    [D["CALL_TIME"], 0, 1, 2, 30, 5_000_000],
    [D["DEVICE_WIN"], 4, "CUDA_WINDOW", 5],
]
# Kind, delta, id, payload; values of the record's item besides kind, time and id; the end of its text.
Shown = tuple[str, int, int, list[int], dict[str, Any], str]
HALO = {"window": 1, "name": "halo"}
LOCKED = {"lock_type": "SHARED", "lock": 7}
ONE_SIDED: list[Shown] = [
    ("RMA_COLL_BEGIN", 1, 0, [], {}, "RMA_COLL_BEGIN"),
    ("RMA_WIN_CREATE", 1, 1, [], HALO, "RMA_WIN_CREATE halo <1>"),
    ("RMA_COLL_END", 1, 1, [21 | r.NO_RANK << 32, 3, 10, 20], HALO | {"op": "CREATE_HANDLE_AND_ALLOCATE", "root": None,
     "level": ["PROCESS", "MEMORY"], "sent": 10, "received": 20},
     "RMA_COLL_END halo <1> op=CREATE_HANDLE_AND_ALLOCATE root=- level=PROCESS,MEMORY sent=10 received=20"),
    ("RMA_GROUP_SYNC", 1, 2, [0, 1], {"window": 2, "name": "window 2", "level": [], "group": 1},
     "RMA_GROUP_SYNC window 2 <2> level=- group=1"),
    ("RMA_REQUEST_LOCK", 1, 1, [1 | 1 << 32, 7], HALO | LOCKED | {"peer": 1},
     "RMA_REQUEST_LOCK halo <1> peer=1 lock_type=SHARED lock=7"),
    ("RMA_ACQUIRE_LOCK", 1, 1, [r.NO_RANK | 1 << 32, 7], HALO | LOCKED | {"peer": None},
     "RMA_ACQUIRE_LOCK halo <1> peer=- lock_type=SHARED lock=7"),
    ("RMA_TRY_LOCK", 1, 1, [0, 8], HALO | {"peer": 0, "lock_type": "EXCLUSIVE", "lock": 8},
     "RMA_TRY_LOCK halo <1> peer=0 lock_type=EXCLUSIVE lock=8"),
    ("RMA_RELEASE_LOCK", 1, 1, [r.NO_RANK, 7], HALO | {"peer": None, "lock": 7},
     "RMA_RELEASE_LOCK halo <1> peer=- lock=7"),
    ("RMA_SYNC", 1, 1, [1 | 2 << 32], HALO | {"peer": 1, "sync_type": "NOTIFY_OUT"},
     "RMA_SYNC halo <1> peer=1 sync_type=NOTIFY_OUT"),
    ("RMA_PUT", 1, 1, [1, 80, 5], HALO | {"peer": 1, "bytes": 80, "matching": 5},
     "RMA_PUT halo <1> peer=1 bytes=80 matching=5"),
    ("RMA_GET", 1, 3, [0, 8, 6], {"window": 3, "name": "?", "peer": 0, "bytes": 8, "matching": 6},
     "RMA_GET ? <3> peer=0 bytes=8 matching=6"),
    ("RMA_ATOMIC", 1, 1, [1 | 3 << 32, 16, 8, 9], HALO | {"peer": 1, "atomic_type": "COMPARE_AND_SWAP", "sent": 16,
     "received": 8, "matching": 9},
     "RMA_ATOMIC halo <1> peer=1 atomic_type=COMPARE_AND_SWAP sent=16 received=8 matching=9"),
    *((kind, 1, 1, [5], HALO | {"matching": 5}, f"{kind} halo <1> matching=5") for kind in (
        "RMA_COMPLETE_BLOCKING", "RMA_COMPLETE_NON_BLOCKING", "RMA_TEST", "RMA_COMPLETE_REMOTE")),
    ("RMA_WIN_DESTROY", 1, 1, [], HALO, "RMA_WIN_DESTROY halo <1>"),
]  # fmt: skip
DATA = {"handle": 1, "name": "data.bin"}
IO: list[Shown] = [
    ("IO_CREATE", 1, 1, [2 | 3 << 32, 5], DATA | {"access": "READ_WRITE", "creation": ["CREATE", "TRUNCATE"],
     "status": ["CLOSE_ON_EXEC", "NON_BLOCKING"]},
     "IO_CREATE data.bin <1> access=READ_WRITE creation=CREATE,TRUNCATE status=CLOSE_ON_EXEC,NON_BLOCKING"),
    ("IO_DUPLICATE", 1, 2, [1 | 1 << 33], {"handle": 2, "name": "stdin", "new": 1, "status": ["APPEND"]},
     "IO_DUPLICATE stdin <2> new=1 status=APPEND"),
    ("IO_SEEK", 1, 1, [2**64 - 9, 2, 91], DATA | {"asked": -9, "whence": "FROM_END", "offset": 91},
     "IO_SEEK data.bin <1> asked=-9 whence=FROM_END offset=91"),
    ("IO_STATUS", 1, 1, [1 << 20], DATA | {"status": 1 << 20}, f"IO_STATUS data.bin <1> status={1 << 20}"),
    ("IO_DELETE", 1, 1, [3], {"file": 1, "name": "/scratch/data.bin", "paradigm": "MPI"},
     "IO_DELETE /scratch/data.bin <1> paradigm=MPI"),
    ("IO_BEGIN", 1, 1, [1 | 3 << 32, 80, 4], DATA | {"mode": "WRITE", "flags": ["NON_BLOCKING", "COLLECTIVE"],
     "bytes": 80, "matching": 4}, "IO_BEGIN data.bin <1> mode=WRITE flags=NON_BLOCKING,COLLECTIVE bytes=80 matching=4"),
    *((kind, 1, 1, [4], DATA | {"matching": 4}, f"{kind} data.bin <1> matching=4") for kind in (
        "IO_ISSUED", "IO_TEST", "IO_CANCELLED")),
    ("IO_COMPLETE", 1, 9, [r.IO_UNKNOWN, 4], {"handle": 9, "name": "?", "bytes": None, "matching": 4},
     "IO_COMPLETE ? <9> bytes=- matching=4"),
    *((kind, 1, 1, [80], DATA | {"bytes": 80}, f"{kind} data.bin <1> bytes=80") for kind in (
        "IO_READ", "IO_WRITE", "IO_FLUSH")),
    ("IO_DONE", 1, 1, [r.IO_UNKNOWN], DATA | {"bytes": None}, "IO_DONE data.bin <1> bytes=-"),
    *((kind, 1, 1, [0], DATA | {"lock_type": "EXCLUSIVE"}, f"{kind} data.bin <1> lock_type=EXCLUSIVE") for kind in (
        "IO_ACQUIRE_LOCK", "IO_RELEASE_LOCK", "IO_TRY_LOCK")),
    ("IO_DESTROY", 1, 1, [], DATA, "IO_DESTROY data.bin <1>"),
    ("ENTER_ALLOC", 1, 1, [100], {"region": 1, "name": "solve it", "bytes": 100}, "ENTER_ALLOC solve it <1> bytes=100"),
    ("LEAVE_ALLOC", 1, 1, [0x7F00, 2**64 - 8, 1], {"region": 1, "name": "solve it", "block": 0x7F00, "heap": -8,
     "blocks": 1}, "LEAVE_ALLOC solve it <1> block=0x7f00 heap=-8 blocks=1"),
    ("ENTER_FREE", 1, 1, [0x7F00, 104, 0, 2**64 - 1], {"region": 1, "name": "solve it", "block": 0x7F00,
     "bytes": 104, "heap": 0, "blocks": -1}, "ENTER_FREE solve it <1> block=0x7f00 bytes=104 heap=0 blocks=-1"),
    ("ENTER_REALLOC", 1, 1, [0, 0, 9], {"region": 1, "name": "solve it", "block": 0, "old_bytes": 0, "bytes": 9},
     "ENTER_REALLOC solve it <1> block=0x0 old_bytes=0 bytes=9"),
    ("HEAP", 1, 0, [70000, 3], {"heap": 70000, "blocks": 3}, "HEAP heap=70000 blocks=3"),
    *((kind, 1, 0, [9], {"number": 9}, f"{kind} number=9") for kind in (
        "THREAD_CREATE", "THREAD_BEGIN", "THREAD_END", "THREAD_WAIT")),
    *((kind, 1, 7, [3 | 9 << 32], {"paradigm": 7, "name": "PTHREAD", "lock": 3, "order": 9},
       f"{kind} PTHREAD <7> lock=3 order=9") for kind in ("ACQUIRE_LOCK", "RELEASE_LOCK")),
]  # fmt: skip
LOOP = {"region": 4, "name": "parallel"}
TASK = {"task": 2, "creator": 3, "team": 1}
BEGUN = {"team": 1, "name": "team 1", "entered": 4, "nesting": 1, "joined": 7}
TEAMS: list[Shown] = [
    ("THREAD_FORK", 1, 4, [2 | 1 << 32], LOOP | {"requested": 2, "nesting": 1},
     "THREAD_FORK parallel <4> requested=2 nesting=1"),
    ("THREAD_TEAM_BEGIN", 1, 1, [4 | 1 << 32, 7], BEGUN,
     "THREAD_TEAM_BEGIN team 1 <1> entered=4 nesting=1 joined=7"),
    ("THREAD_TASK_CREATE", 1, 0, [2 | 3 << 32, 1], TASK, "THREAD_TASK_CREATE task=2 creator=3 team=1"),
    ("THREAD_TASK_BEGIN", 1, 4, [2 | 3 << 32, 1], LOOP | TASK,
     "THREAD_TASK_BEGIN parallel <4> task=2 creator=3 team=1"),
    ("THREAD_TASK_END", 1, 4, [2 | 3 << 32, 1 | 1 << 32, 0], LOOP | TASK | {"later": 1, "next_task": 0},
     "THREAD_TASK_END parallel <4> task=2 creator=3 team=1 later=1 next_task=0 next_creator=0"),
    ("THREAD_TEAM_END", 1, 4, [1], LOOP | {"nesting": 1}, "THREAD_TEAM_END parallel <4> nesting=1"),
    ("THREAD_TEAM_JOINED", 1, 0, [7], {"joined": 7}, "THREAD_TEAM_JOINED joined=7"),
    ("THREAD_JOIN", 1, 9, [1], {"region": 9, "name": "?", "nesting": 1}, "THREAD_JOIN ? <9> nesting=1"),
]  # fmt: skip
RECORDS: list[Shown] = [
    ("ENTER", 10, 1, [], {"region": 1, "name": "solve it"}, "ENTER solve it <1>"),
    ("SEND", 0, 1, [1 | 5 << 32, 80], {"comm": 1, "name": "MPI_COMM_WORLD", "peer": 1, "tag": 5, "bytes": 80},
     "SEND MPI_COMM_WORLD <1> peer=1 tag=5 bytes=80"),
    ("RECV", 0, 2, [0, 1 << 40], {"comm": 2, "name": "row\n0", "peer": 0, "tag": 0, "bytes": 1 << 40},
     f'RECV "row\\n0" <2> peer=0 tag=0 bytes={1 << 40}'),
    ("ISEND", 3, 3, [1, 8, 99], {"comm": 3, "name": "CART", "peer": 1, "tag": 0, "bytes": 8, "request": 99},
     "ISEND CART <3> peer=1 tag=0 bytes=8 request=99"),
    ("ISEND_COMPLETE", 1, 0, [99], {"request": 99}, "ISEND_COMPLETE request=99"),
    ("IRECV_REQUEST", 1, 0, [2**64 - 1], {"request": 2**64 - 1}, f"IRECV_REQUEST request={2**64 - 1}"),
    ("IRECV", 1, 9, [0, 8, 98], {"comm": 9, "name": "?", "peer": 0, "tag": 0, "bytes": 8, "request": 98},
     "IRECV ? <9> peer=0 tag=0 bytes=8 request=98"),
    ("REQUEST_TEST", 1, 0, [98], {"request": 98}, "REQUEST_TEST request=98"),
    ("REQUEST_CANCELLED", 1, 0, [97], {"request": 97}, "REQUEST_CANCELLED request=97"),
    ("COLL_BEGIN", 1, 0, [], {}, "COLL_BEGIN"),
    ("COLL_END", 1, 1, [1, 4, 8], {"comm": 1, "name": "MPI_COMM_WORLD", "op": "BCAST", "root": 0, "sent": 4,
     "received": 8}, "COLL_END MPI_COMM_WORLD <1> op=BCAST root=0 sent=4 received=8"),
    ("COLL_REQUEST", 1, 0, [96], {"request": 96}, "COLL_REQUEST request=96"),
    ("COLL_END", 1, 1, [9 | r.FROM_ALL | r.NO_RANK << 32, 4, 8], {"comm": 1, "name": "MPI_COMM_WORLD",
     "op": "ALLTOALLV", "root": None, "from_all": True, "sent": 4, "received": 8},
     "COLL_END MPI_COMM_WORLD <1> op=ALLTOALLV root=- from_all=yes sent=4 received=8"),
    ("COLL_COMPLETE", 1, 1, [r.NO_RANK << 32, 0, 0, 96], {"comm": 1, "name": "MPI_COMM_WORLD", "op": "BARRIER",
     "root": None, "sent": 0, "received": 0, "request": 96},
     "COLL_COMPLETE MPI_COMM_WORLD <1> op=BARRIER root=- sent=0 received=0 request=96"),
    ("COMM_CREATE", 1, 2, [], {"comm": 2, "name": "row\n0"}, 'COMM_CREATE "row\\n0" <2>'),
    ("COMM_DESTROY", 1, 2, [], {"comm": 2, "name": "row\n0"}, 'COMM_DESTROY "row\\n0" <2>'),
    ("METRIC", 1, 1, struct.unpack("<Q", struct.pack("<d", -1.5)), {"metric": 1, "name": "degrees", "value": -1.5},
     "METRIC degrees <1> value=-1.5"),
    ("METRIC", 1, 2, [2**64 - 3], {"metric": 2, "name": "balance", "value": -3}, "METRIC balance <2> value=-3"),
    ("METRIC_GROUP", 1, 4, [7, 1, 0, 0, 0, 0, 0], {"metric_group": 4, "name": "page-faults,cpu", "value1": 7},
     "METRIC_GROUP page-faults,cpu <4> value1=7 value2=1 value3=0 value4=0 value5=0 value6=0 value7=0"),
    ("METRIC", 1, 3, [2**64 - 3], {"metric": 3, "name": "?", "value": 2**64 - 3}, f"METRIC ? <3> value={2**64 - 3}"),
    ("ATTRIBUTE", 1, 1, [2**32 - 5], {"attribute": 1, "name": "offset", "value": -5}, "ATTRIBUTE offset <1> value=-5"),
    ("ATTRIBUTE", 1, 2, struct.unpack("<Q", struct.pack("<fi", 0.5, 0)), {"name": "share", "value": 0.5},
     "ATTRIBUTE share <2> value=0.5"),
    ("ATTRIBUTE", 1, 3, [9], {"attribute": 3, "name": "?", "value": 9}, "ATTRIBUTE ? <3> value=9"),
    *ONE_SIDED,
    *IO,
    *TEAMS,
    ("MARKER", 1, 1, [1], {"marker": 1, "name": "steps", "text": "step 3"}, 'MARKER steps <1> text="step 3"'),
    ("COMMENT", 1, 0, [9], {"text": "?"}, "COMMENT text=?"),
    ("USER_SEND", 1, 1, [7, 80], {"user_comm": 1, "name": "queue", "tag": 7, "bytes": 80},
     "USER_SEND queue <1> tag=7 bytes=80"),
    ("USER_RECV", 1, 2, [7, 80], {"user_comm": 2, "name": "?", "tag": 7, "bytes": 80},
     "USER_RECV ? <2> tag=7 bytes=80"),
    ("SECTION", 1, 3, [1], {"metric": 3, "name": "?", "value": 1}, "SECTION ? <3> value=1"),
    ("REWIND_MARK", 1, 0, [], {}, "REWIND_MARK"),
    ("REWOUND", 1, 0, [300], {"duration": 300}, "REWOUND duration=300"),
    ("LOST", 1, 1, [12], {"reason": 1, "name": "SIGNAL", "events": 12}, "LOST SIGNAL <1> events=12"),
    ("ENTER_ADDRESS", 1, 0, [0x400010], {"address": 0x400010, "name": "prog+0x10", "at": "prog+0x10"},
     "ENTER_ADDRESS prog+0x10"),
    ("LEAVE_ADDRESS", 1, 0, [0x99], {"address": 0x99, "name": "0x99", "at": "0x99"}, "LEAVE_ADDRESS 0x99"),
    ("LEAVE", 1, 1, [], {"region": 1, "name": "solve it"}, "LEAVE solve it <1>"),
    ("FLUSH", 1, 0, [500], {"duration": 500}, "FLUSH duration=500"),
    ("PROCESSOR_WAIT", 1, 0, [700], {"ns": 700}, "PROCESSOR_WAIT ns=700"),
    ("BLOCKED", 1, 0, [900, 40, 2], {"ns": 900, "within": 40, "site": 2}, "BLOCKED ns=900 within=40 site=2"),
    ("THINNED", 1, 0, [4096], {"below": 4096}, "THINNED below=4096"),
    ("LEFT_OUT", 1, 0, [800], {"duration": 800}, "LEFT_OUT duration=800"),
    ("OFF", 1, 0, [], {}, "OFF"),
    ("ON", 1, 0, [], {}, "ON"),
    ("THREAD", 1, 0, [4321], {"thread": 4321}, "THREAD thread=4321"),
    ("LIMIT", 1, 4, [0x241], {"reason": 4, "name": "LIMIT", "classes": ["function", "io", "control"]},
     "LIMIT LIMIT <4> classes=function,io,control"),
]  # fmt: skip


def every_kind() -> Chunk:
    chunk = Chunk(ticks=1000, thread=100)
    chunk.enter(0x1020, 5).leave(0x1020, 6)
    chunk.record("TIME", 0, 0, 1 << 33)
    for kind, delta, number, payload, _, _ in RECORDS:
        chunk.record(kind, delta, number, *payload)
    return chunk


def write_run(directory: Path) -> Path:
    """Writes the files of one process with a record of each kind, and of a second location; returns directory."""
    open_there = [r.FUNCTION | 0x1020, r.what("ENTER", 2), r.OPEN_ADDRESS | 0x400010]
    second = Chunk(3, 0, 50, open=open_there, depth=5, lost=2)
    chunks = {0: [every_kind()], 3: [second.record("LEAVE", 7, 2), Chunk(3, 1, 57).enter(0x1020)]}
    names = {location: rank_name(0, location) for location in chunks}
    write_files(directory, names, DEFINITIONS, chunks, **rank_head(0, 1, "a"))
    return directory


def dumped(directory: Path, *words: str | Path, check: bool = True) -> Done:
    return call([*command("vtrace"), "dump", *words], directory, check=check)


def items(directory: Path, *words: str | Path, check: bool = True) -> list[dict[str, Any]]:
    return [json.loads(line) for line in dumped(directory, "--json", *words, check=check).stdout.splitlines()]


def errors(done: Done) -> int:
    """The number of error lines. (Warnings appear because the functions of a missing program have no names.)"""
    assert all(line.startswith(("vtrace: error: ", "vtrace: warning: ")) for line in done.stderr.splitlines())
    return done.stderr.count("vtrace: error: ")


def of_type(found: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [item for item in found if item["type"] == kind]
