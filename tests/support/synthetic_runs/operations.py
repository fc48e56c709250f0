# SPDX-License-Identifier: BSD-3-Clause
"""RMA and I/O records, and the OTF2 events that the kernel writes for them with the maps of transcoding.py."""

from __future__ import annotations

from typing import Any

from vtrace.io.local import records as r

ALL = r.NO_RANK
RecordedOperation = tuple[str, int, tuple[int, ...], str, dict[str, Any], str]
"""Record, id and payload; event and attributes as the otf2 package reads them; text of otf2-print."""
DONE = {"win": 1, "matching_id": 9}

ONE_SIDED: list[RecordedOperation] = [
    ("RMA_COLL_BEGIN", 0, (), "RmaCollectiveBegin", {}, ""),
    ("RMA_WIN_CREATE", 1, (), "RmaWinCreate", {"win": 0}, 'Window: "w0" <0>'),
    ("RMA_COLL_END", 2, (21 | 3 << 32, 3, 10, 20), "RmaCollectiveEnd",
     {"collective_op": "CREATE_HANDLE_AND_ALLOCATE", "sync_level": "PROCESS|MEMORY", "win": 1, "root": 4,
      "bytes_sent": 10, "bytes_received": 20},
     'Operation: CREATE_HANDLE_AND_ALLOCATE, Window: "w1" <1>, Level of Synchronicity: {PROCESS, MEMORY}, '
     'Root: 4 ("t" <0>), Sent: 10, Received: 20'),
    ("RMA_COLL_END", 2, (0 | ALL << 32, 0, 0, 1 << 40), "RmaCollectiveEnd",
     {"collective_op": "BARRIER", "sync_level": "NONE", "win": 1, "root": ALL, "bytes_sent": 0,
      "bytes_received": 1 << 40},
     'Operation: BARRIER, Window: "w1" <1>, Level of Synchronicity: NONE, Root: NONE, Sent: 0, '
     f"Received: {1 << 40}"),
    ("RMA_GROUP_SYNC", 1, (1, 2), "RmaGroupSync", {"sync_level": "PROCESS", "win": 0, "group": 1},
     'Level of Synchronicity: {PROCESS}, Window: "w0" <0>, Group: "g" <1>'),
    ("RMA_REQUEST_LOCK", 2, (5 | 1 << 32, 77), "RmaRequestLock",
     {"win": 1, "remote": 6, "lock_id": 77, "lock_type": "SHARED"},
     'Window: "w1" <1>, Remote: 6 ("t" <0>), Lock: 77, Type: SHARED'),
    ("RMA_ACQUIRE_LOCK", 2, (ALL, 1 << 40), "RmaAcquireLock",
     {"win": 1, "remote": ALL, "lock_id": 1 << 40, "lock_type": "EXCLUSIVE"},
     f'Window: "w1" <1>, Remote: UNDEFINED, Lock: {1 << 40}, Type: EXCLUSIVE'),
    ("RMA_TRY_LOCK", 1, (5, 3), "RmaTryLock", {"win": 0, "remote": 5, "lock_id": 3, "lock_type": "EXCLUSIVE"},
     'Window: "w0" <0>, Remote: 5 ("t" <0>), Lock: 3, Type: EXCLUSIVE'),
    ("RMA_RELEASE_LOCK", 2, (5, 77), "RmaReleaseLock", {"win": 1, "remote": 6, "lock_id": 77},
     'Window: "w1" <1>, Remote: 6 ("t" <0>), Lock: 77'),
    ("RMA_SYNC", 2, (5 | 2 << 32,), "RmaSync", {"win": 1, "remote": 6, "sync_type": "NOTIFY_OUT"},
     'Window: "w1" <1>, Remote: 6 ("t" <0>), Sync Type: NOTIFY_OUT'),
    ("RMA_PUT", 2, (5, 1 << 40, 9), "RmaPut", {"win": 1, "remote": 6, "bytes": 1 << 40, "matching_id": 9},
     f'Window: "w1" <1>, Remote: 6 ("t" <0>), Bytes: {1 << 40}, Matching: 9'),
    ("RMA_GET", 1, (5, 100, 1 << 40), "RmaGet", {"win": 0, "remote": 5, "bytes": 100, "matching_id": 1 << 40},
     f'Window: "w0" <0>, Remote: 5 ("t" <0>), Bytes: 100, Matching: {1 << 40}'),
    ("RMA_ATOMIC", 2, (5 | 3 << 32, 16, 8, 9), "RmaAtomic",
     {"win": 1, "remote": 6, "type": "COMPARE_AND_SWAP", "bytes_sent": 16, "bytes_received": 8, "matching_id": 9},
     'Window: "w1" <1>, Remote: 6 ("t" <0>), Type: COMPARE_AND_SWAP, Sent: 16, Received: 8, Matching: 9'),
    ("RMA_COMPLETE_BLOCKING", 2, (9,), "RmaOpCompleteBlocking", DONE, 'Window: "w1" <1>, Matching: 9'),
    ("RMA_COMPLETE_NON_BLOCKING", 2, (9,), "RmaOpCompleteNonBlocking", DONE, 'Window: "w1" <1>, Matching: 9'),
    ("RMA_TEST", 2, (9,), "RmaOpTest", DONE, 'Window: "w1" <1>, Matching: 9'),
    ("RMA_COMPLETE_REMOTE", 2, (9,), "RmaOpCompleteRemote", DONE, 'Window: "w1" <1>, Matching: 9'),
    ("RMA_WIN_DESTROY", 1, (), "RmaWinDestroy", {"win": 0}, 'Window: "w0" <0>'),
]  # fmt: skip

IO: list[RecordedOperation] = [
    ("IO_CREATE", 2, (2 | 3 << 32, 5), "IoCreateHandle",
     {"handle": 1, "mode": "READ_WRITE", "creation_flags": "CREATE|TRUNCATE",
      "status_flags": "CLOSE_ON_EXEC|NON_BLOCKING"},
     'Handle: "h1" <1>, Access Mode: READ_WRITE, Creation Flags: {CREATE, TRUNCATE}, '
     "Status Flags: {CLOSE_ON_EXEC, NON_BLOCKING}"),
    ("IO_DUPLICATE", 1, (2 | 2 << 32,), "IoDuplicateHandle",
     {"old_handle": 0, "new_handle": 1, "status_flags": "APPEND"},
     'Old Handle: "h0" <0>, New Handle: "h1" <1>, Status Flags: {APPEND}'),
    ("IO_SEEK", 2, (2**64 - 9, 2, 91), "IoSeek",
     {"handle": 1, "offset_request": -9, "whence": "FROM_END", "offset_result": 91},
     'Handle: "h1" <1>, Offset Request: -9, Whence: FROM_END, Offset Result: 91'),
    ("IO_STATUS", 2, (12,), "IoChangeStatusFlags", {"handle": 1, "status_flags": "NON_BLOCKING|ASYNC"},
     'Handle: "h1" <1>, Status Flags: {NON_BLOCKING, ASYNC}'),
    ("IO_DELETE", 2, (3,), "IoDeleteFile", {"io_paradigm": 2, "file": 1},
     'I/O Paradigm: "MPI-IO" <2>, File: "file:///f1" <1>'),
    ("IO_BEGIN", 2, (1 | 3 << 32, 80, 4), "IoOperationBegin",
     {"handle": 1, "mode": "WRITE", "operation_flags": "NON_BLOCKING|COLLECTIVE", "bytes_request": 80,
      "matching_id": 4},
     'Handle: "h1" <1>, Mode: WRITE, Operation Flags: {NON_BLOCKING, COLLECTIVE}, Bytes Request: 80, Matching Id: 4'),
    ("IO_ISSUED", 2, (4,), "IoOperationIssued", {"handle": 1, "matching_id": 4}, 'Handle: "h1" <1>, Matching Id: 4'),
    ("IO_TEST", 2, (4,), "IoOperationTest", {"handle": 1, "matching_id": 4}, 'Handle: "h1" <1>, Matching Id: 4'),
    ("IO_COMPLETE", 2, (r.IO_UNKNOWN, 1 << 40), "IoOperationComplete",
     {"handle": 1, "bytes_result": r.IO_UNKNOWN, "matching_id": 1 << 40},
     f'Handle: "h1" <1>, Bytes Result: {r.IO_UNKNOWN}, Matching Id: {1 << 40}'),
    ("IO_CANCELLED", 1, (4,), "IoOperationCancelled", {"handle": 0, "matching_id": 4},
     'Handle: "h0" <0>, Matching Id: 4'),
    ("IO_ACQUIRE_LOCK", 2, (1,), "IoAcquireLock", {"handle": 1, "lock_type": "SHARED"},
     'Handle: "h1" <1>, Type: SHARED'),
    ("IO_RELEASE_LOCK", 2, (0,), "IoReleaseLock", {"handle": 1, "lock_type": "EXCLUSIVE"},
     'Handle: "h1" <1>, Type: EXCLUSIVE'),
    ("IO_TRY_LOCK", 2, (1,), "IoTryLock", {"handle": 1, "lock_type": "SHARED"}, 'Handle: "h1" <1>, Type: SHARED'),
    ("IO_DESTROY", 2, (), "IoDestroyHandle", {"handle": 1}, 'Handle: "h1" <1>'),
]  # fmt: skip

MEMBER = {"thread_contingent": 2, "sequence_count": 1 << 40}
HELD = {"model": "PTHREAD", "lock_id": 7, "acquisition_order": 3}
THREADS: list[RecordedOperation] = [
    *((record, 0, (1 << 40,), event, MEMBER, f'Thread Contingent: "c2" <2>, Sequence Count: {1 << 40}')
      for record, event in (("THREAD_CREATE", "ThreadCreate"), ("THREAD_BEGIN", "ThreadBegin"),
                            ("THREAD_END", "ThreadEnd"), ("THREAD_WAIT", "ThreadWait"))),
    *((record, 7, (7 | 3 << 32,), event, HELD, "Model: PTHREAD, Lock: 7, Acquisition Order: 3")
      for record, event in (("ACQUIRE_LOCK", "ThreadAcquireLock"), ("RELEASE_LOCK", "ThreadReleaseLock"))),
]  # fmt: skip

WRONG: list[tuple[str, tuple[int, ...], str]] = [
    ("RMA_COLL_END", (23, 0, 0, 0), "unknown collective operation 23"),
    ("RMA_COLL_END", (0, 4, 0, 0), "unknown level of synchronization 4"),
    ("RMA_GROUP_SYNC", (1 << 32, 1), f"unknown level of synchronization {1 << 32}"),
    *((kind, (2 << 32, 0), "unknown type of lock 2") for kind in (
        "RMA_REQUEST_LOCK", "RMA_ACQUIRE_LOCK", "RMA_TRY_LOCK")),
    ("RMA_SYNC", (3 << 32,), "unknown type of synchronization 3"),
    ("RMA_ATOMIC", (8 << 32, 0, 0, 0), "unknown atomic operation 8"),
    *((kind, payload, "unknown mode, type or flag of I/O") for kind, payload in (
        ("IO_CREATE", (5, 0)), ("IO_CREATE", (1 << 43, 0)), ("IO_CREATE", (0, 512)), ("IO_DUPLICATE", (1 | 1 << 41,)),
        ("IO_SEEK", (0, 5, 0)), ("IO_STATUS", (512,)), ("IO_DELETE", (0,)), ("IO_DELETE", (4,)),
        ("IO_BEGIN", (3, 0, 0)), ("IO_BEGIN", (1 << 34, 0, 0)), ("IO_ACQUIRE_LOCK", (2,)), ("IO_RELEASE_LOCK", (2,)),
        ("IO_TRY_LOCK", (1 << 32,)))),
]  # fmt: skip
"""Invalid records with their payload, and the error."""
