# SPDX-License-Identifier: BSD-3-Clause
"""Reads SQLite databases of Nsight Systems (nsys export --type sqlite) and of rocprofv3 (rocpd).

Sources: "SQLite Export Schema Reference" of the Nsight Systems manual; "Using rocpd output format" of ROCprofiler-SDK's
manual. Tables and columns differ between versions: only those that a database has are read.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from vtrace.errors import FormatError
from vtrace.transform.recordings.recording import LANE, STREAM, THREAD, Activity, Recording, Remark

MAGIC = b"SQLite format 3\0"
_ID = 1 << 24
"""Nsight Systems: a global thread id is (... * _ID + pid) * _ID + tid."""
_NVTX_MARK, _NVTX_PUSH_POP, _NVTX_START_END = 34, 59, 60
_COPIES = {
    1: "HtoD",
    2: "DtoH",
    3: "HtoA",
    4: "AtoH",
    5: "AtoA",
    6: "AtoD",
    7: "DtoA",
    8: "DtoD",
    9: "HtoH",
    10: "PtoP",
}
"""CUpti_ActivityMemcpyKind."""
_VERSION = re.compile(r"_v\d+$")
"""Of the name of a function of CUDA: cudaLaunchKernel_v7000."""
_APIS = (("CUPTI_", "CUDA"), ("CUDNN", "CUDA"), ("CUBLAS", "CUDA"), ("MPI_", "MPI"))
"""Beginnings of the names of tables of host calls, and the paradigms of these."""


def read_database(path: Path, advance: Callable[[int], None]) -> Recording:
    """Reads a whole database. advance: is told the bytes read, at the end. Raises FormatError."""
    recording = Recording(path)
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)) as connection:
            database = _Database(connection)
            if "StringIds" in database.names:
                _NsightSystems(database, recording).read()
            elif {"regions", "kernels"} & database.names:
                _Rocpd(database, recording).read()
            else:
                raise FormatError(f"{path}: not a database of Nsight Systems or rocprofv3", "no known table")
    except (sqlite3.Error, TypeError, ValueError, OverflowError) as error:
        raise FormatError(f"{path}: cannot be read: {error}", "is the database whole?") from error
    advance(path.stat().st_size)
    return recording


class _Database:
    """The tables and views of a database."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        self.names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        self._columns: dict[str, set[str]] = {}

    def columns(self, table: str) -> set[str]:
        """The names of its columns; empty: there is no such table."""
        if table not in self._columns:
            rows = self._connection.execute(f"PRAGMA table_info({_quoted(table)})")
            self._columns[table] = {row[1] for row in rows}
        return self._columns[table]

    def rows(self, table: str, *columns: str) -> Iterator[Any]:
        """The rows of columns; None for a column that the table lacks, nothing for a missing table."""
        known = self.columns(table)
        if known:
            chosen = ", ".join(_quoted(column) if column in known else "NULL" for column in columns)
            yield from self._connection.execute(f"SELECT {chosen} FROM {_quoted(table)}")

    def one_of(self, table: str, *columns: str) -> str:
        """The first of these columns that the table has; else the last."""
        return next((column for column in columns if column in self.columns(table)), columns[-1])


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class _NsightSystems:
    def __init__(self, database: _Database, recording: Recording) -> None:
        self._database, self._recording = database, recording
        self._strings = dict(database.rows("StringIds", "id", "value"))

    def read(self) -> None:
        database, recording = self._database, self._recording
        for (since,) in database.rows("TARGET_INFO_SESSION_START_TIME", "utcEpochNs"):
            recording.since = since
        about = dict(database.rows("TARGET_INFO_SYSTEM_ENV", "name", "value"))
        recording.host = str(about.get("Hostname") or "")
        for owner, name in database.rows("PROCESSES", "globalPid", "name"):
            recording.processes[owner // _ID % _ID] = str(name)
        for table in sorted(database.names):
            known = database.columns(table)
            if {"start", "end", "globalTid"} <= known and known & {"nameId", "textId"} and table != "NVTX_EVENTS":
                self._calls(table)
        self._nvtx()
        self._device()
        for owner, name in database.rows("ThreadNames", "globalTid", "nameId"):
            pid, tid = owner // _ID % _ID, owner % _ID
            if track := recording.tracks.get((THREAD, pid, tid)):
                track.name = self._strings.get(name, "")

    def _calls(self, table: str) -> None:
        api = next((api for begin, api in _APIS if table.startswith(begin)), "USER")
        category = table.removesuffix("_EVENTS").removeprefix("CUPTI_ACTIVITY_KIND_")
        recording, numbers = self._recording, dict[int, int]()
        column = self._database.one_of(table, "nameId", "textId")
        for begin, end, owner, name in self._database.rows(table, "start", "end", "globalTid", column):
            if name not in numbers:
                text = _VERSION.sub("", str(self._strings.get(name, name)))
                activity = Activity(text, category, api=api)
                numbers[name] = recording.activity(activity)
            recording.track(THREAD, owner // _ID % _ID, owner % _ID).add(begin, end, numbers[name])

    def _nvtx(self) -> None:
        recording = self._recording
        rows = self._database.rows("NVTX_EVENTS", "start", "end", "eventType", "text", "textId", "globalTid")
        for begin, end, kind, text, number, owner in rows:
            name = text if text is not None else str(self._strings.get(number, ""))
            pid, tid = owner // _ID % _ID, owner % _ID
            if kind == _NVTX_MARK:
                track = recording.track(THREAD, pid, tid)
                recording.remarks.append(Remark(begin, "NVTX", name, pid, track))
            elif kind in (_NVTX_PUSH_POP, _NVTX_START_END):
                if end is None:
                    recording.left_out["ranges of NVTX without an end"] += 1
                    continue
                place = (THREAD, pid, tid) if kind == _NVTX_PUSH_POP else (LANE, pid, "NVTX")
                recording.track(*place).add(begin, end, recording.activity(Activity(name, "NVTX")))

    def _device(self) -> None:
        kernels = "CUPTI_ACTIVITY_KIND_KERNEL"
        column = self._database.one_of(kernels, "demangledName", "shortName")
        for *where, name in self._database.rows(kernels, *_OF_DEVICE, column):
            self._activity(where, Activity(str(self._strings.get(name, name)), "kernel", kind="kernel", api="CUDA"))
        for *where, kind, size in self._database.rows("CUPTI_ACTIVITY_KIND_MEMCPY", *_OF_DEVICE, "copyKind", "bytes"):
            name = f"Memcpy {_COPIES.get(kind, kind)}"
            self._activity(where, Activity(name, "gpu_memcpy", kind="transfer", api="CUDA"), size or 0)
        for *where, size in self._database.rows("CUPTI_ACTIVITY_KIND_MEMSET", *_OF_DEVICE, "bytes"):
            self._activity(where, Activity("Memset", "gpu_memset", kind="transfer", api="CUDA"), size or 0)

    def _activity(self, where: Any, activity: Activity, size: int = 0) -> None:
        begin, end, owner, device, stream = where
        pid = owner // _ID % _ID if owner is not None else ""
        track = self._recording.track(STREAM, pid, f"CUDA[{device}:{stream}]")
        track.add(begin, end, self._recording.activity(activity), size)


_OF_DEVICE = ("start", "end", "globalPid", "deviceId", "streamId")


class _Rocpd:
    """The views of a database of rocprofv3, whose times are of CLOCK_BOOTTIME."""

    def __init__(self, database: _Database, recording: Recording) -> None:
        self._database, self._recording = database, recording

    def read(self) -> None:
        database, recording = self._database, self._recording
        for pid, host, command in database.rows("processes", "pid", "hostname", "command"):
            recording.host = str(host or "")
            recording.processes[pid] = Path(str(command or "").split(" ")[0]).name or "process"
        for begin, end, pid, tid, name, category in database.rows(
            "regions", "start", "end", "pid", "tid", "name", "category"
        ):
            api = "HIP" if str(category).startswith(("HIP", "HSA")) else "USER"
            activity = recording.activity(Activity(str(name), str(category or ""), api=api))
            recording.track(THREAD, pid, tid).add(begin, end, activity)
        self._device("kernels", "agent", kind="kernel")
        self._device("memory_copies", "dst_agent", kind="transfer")

    def _device(self, view: str, agent: str, kind: str) -> None:
        of_agent = (f"{agent}_{ending}" for ending in ("absolute_index", "abs_index", "log_index", "id"))
        columns = "start", "end", "pid", "name", self._database.one_of(view, *of_agent)
        queue = self._database.one_of(view, "stream_id", "queue_id")
        for begin, end, pid, name, device, stream, size in self._database.rows(view, *columns, queue, "size"):
            track = self._recording.track(STREAM, pid, f"HIP[{device}:{stream}]")
            activity = self._recording.activity(Activity(str(name), view, kind=kind, api="HIP"))
            track.add(begin, end, activity, size or 0)
