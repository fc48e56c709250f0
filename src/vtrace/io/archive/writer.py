# SPDX-License-Identifier: BSD-3-Clause
"""Creates an OTF2 archive: its files through libotf2, the events of a location through the kernel."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

import _otf2

from vtrace.errors import VtraceError
from vtrace.io.archive.definition_writer import write_definitions
from vtrace.io.archive.definitions import (
    DEFINITION_CHUNK,
    FIRST_STRING,
    Attribute,
    Comm,
    Definitions,
    Group,
    IoFile,
    IoHandle,
    Location,
    LocationGroup,
    Marker,
    Metric,
    MetricClass,
    Region,
    SystemNode,
    Window,
    chunk_bytes,
    plain_text,
)
from vtrace.io.archive.event_files import EVENT_BYTES
from vtrace.io.archive.otf2_callbacks import CollectiveCallbacks
from vtrace.io.archive.properties import PROPERTY
from vtrace.io.common.held_directory import HeldDirectory
from vtrace.io.local import kernel
from vtrace.parallel.ranks import ALONE, Ranks

__all__ = [
    "FIRST_STRING", "Archive", "Attribute", "Comm", "Definitions", "Group", "IoFile", "IoHandle", "Location",
    "LocationGroup", "Marker", "Metric", "MetricClass", "Region", "SystemNode", "Window",
]  # fmt: skip

NAME = "traces"
ArchiveHandle = Any
"""OTF2_Archive."""
EVENT_CHUNK = 256 * 1024
"""Bytes of a chunk, the least that OTF2 allows: to seek, libotf2 reads a chunk and skips events
(timeline/window_reader.py)."""
AT_ONCE = 8192
"""The most locations of one archive handle: libotf2 searches all of them to open the next one."""


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _repeat(paths: list[str]) -> None:
    """Makes all files equal to the first: hard links, which need no inode, where the file system has them and a file
    may have one more."""
    source = paths[0] if paths else ""
    for path in paths[1:]:
        try:
            os.link(source, path)
        except OSError:
            shutil.copyfile(source, path)
            source = path


class _BytesPath(str):
    """A path for the otf2 package, which encodes texts as UTF-8; the bytes of a file's name need not be UTF-8."""

    def encode(self, *_: object) -> bytes:
        return os.fsencode(str(self))


class Archive:
    """An OTF2 archive that is being written: open it, write the events of each location once, then finish or abort it.

    Several threads may write events of different locations at once, and so may several processes: all processes open,
    finish and abort the archive together.
    """

    def __init__(self, directory: Path, ranks: Ranks = ALONE, has_events: bool = True) -> None:
        """Creates directory, which must not exist, with an archive named "traces". has_events: False for the
        definitions of a packed archive, which has its events elsewhere. Raises VtraceError."""
        self.directory, self._has_events = directory, has_events
        self._ranks = ranks
        self._held: HeldDirectory | None = None
        inode = ranks.first(self._make_directory)
        self._held = ranks.together(lambda: self._held or HeldDirectory(directory, inode))
        self.identity = self._held.identity
        """Device and inode of the directory."""
        self._inside = self._held.inside
        """The directory, under a name that no other user can take."""
        self.events: dict[int, int] = {}
        """Events written so far, by location id."""
        self._lock = Lock()
        self._opened = 0
        self._callbacks, self._alone = CollectiveCallbacks(ranks), CollectiveCallbacks(ALONE)
        self._archive = ranks.together(lambda: self._open(self._inside))
        ranks.together(lambda: self._join(self._archive, self._callbacks))
        self._parts: list[tuple[Path, ArchiveHandle]] = []
        """Further archives with the events of more locations, whose files move to this one."""

    def _make_directory(self) -> int:
        """No other user may enter the directory until the archive is finished: libotf2 follows symbolic links. Returns
        the inode."""
        try:
            self.directory.mkdir(0o700)
        except FileExistsError:
            raise VtraceError(f"{self.directory} exists already", "rm -r removes it") from None
        except OSError as error:
            raise VtraceError(f"cannot create the archive {self.directory}: {error.strerror}") from error
        self._held = HeldDirectory(self.directory)
        return self._held.identity[1]

    def _open(self, directory: Path) -> ArchiveHandle:
        with self._errors("create the archive"):
            # The size of definition chunks is set in finish(): it depends on the largest group.
            archive = _otf2.Archive_Open(
                _BytesPath(directory), NAME, _otf2.FILEMODE_WRITE, EVENT_CHUNK, _otf2.UNDEFINED_UINT64.value,
                _otf2.SUBSTRATE_POSIX, _otf2.COMPRESSION_NONE,
            )  # fmt: skip
            code = kernel.prepare_archive(ctypes.cast(archive, ctypes.c_void_p).value or 0)
            if code:
                raise _otf2.Error(_otf2.ErrorCode(code))
        return archive

    def _join(self, archive: ArchiveHandle, callbacks: CollectiveCallbacks) -> None:
        with self._errors("create the archive"):
            callbacks.set(archive)
            _otf2.Archive_OpenEvtFiles(archive)

    def _handle(self) -> ArchiveHandle:
        """The archive for the events of the next location."""
        with self._lock:
            if self._opened and self._opened % AT_ONCE == 0:
                directory = self._inside / f"part{self._ranks.rank}.{len(self._parts)}"
                archive = self._open(directory)
                self._join(archive, self._alone)
                self._parts.append((directory, archive))
            self._opened += 1
            return self._parts[-1][1] if self._parts else self._archive

    @contextmanager
    def event_writer(self, location: int) -> Iterator[int | None]:
        """The OTF2_EvtWriter of a location, as an address for the kernel; the end of the block closes and writes it.
        None: the archive has no events.

        Every location of the archive must be opened once, also a location without events.
        """
        if not self._has_events:
            yield None
            with self._lock:
                self.events[location] = 0
            return
        archive = self._handle()
        with self._errors("open the events", location):
            writer = _otf2.Archive_GetEvtWriter(archive, location)
            if not writer:
                raise VtraceError(f"{self._path(location)}: OTF2 could not open the events")
        yield ctypes.addressof(writer.contents)  # after an error the writer stays open: see abort
        with self._errors("write the events", location):
            count = _otf2.EvtWriter_GetNumberOfEvents(writer, ctypes.c_uint64())
            _otf2.Archive_CloseEvtWriter(archive, writer)
        with self._lock:
            self.events[location] = count

    def finish(self, definitions: Definitions, markers: Sequence[Marker] = ()) -> None:
        """Writes the definitions and the markers of rank 0, and closes the archive: then it can be read.

        Raises VtraceError, for example if the disk is full; the archive is then aborted.
        """
        try:
            self._ranks.together(self._take_parts)
            size = self._ranks.first(lambda: self._chunk_bytes(definitions))
            self._ranks.together(lambda: self._write_local(size))
            (event_bytes,) = self._ranks.total([self._ranks.together(self._bytes_of_events)])
            definitions.properties[PROPERTY + EVENT_BYTES] = str(event_bytes)
            self._ranks.first(lambda: self._write_global(definitions, markers))
            self._ranks.together(self._close)
            self._ranks.first(lambda: self._inside.chmod(0o777 & ~_umask()))
        except BaseException:
            self.abort()
            raise

    def finish_events(self, chunk: int) -> int:
        """Closes an archive whose definitions, with chunks of this size, are copied from another; returns the bytes of
        its event files. Raises VtraceError."""
        self._take_parts()
        self._write_local(chunk)
        size = self._bytes_of_events()
        self.abort()
        self._inside.chmod(0o777 & ~_umask())
        return size

    def describe(self, definitions: Definitions) -> None:
        """Writes the definitions of an archive without events and closes the archive. The locations may have numbers of
        events. Raises VtraceError."""
        self.events = {number: location.events for number, location in enumerate(definitions.locations)}
        size = self._chunk_bytes(definitions)
        with self._errors("write the definitions"):
            _otf2.Archive_CloseEvtFiles(self._archive)
            _otf2.Archive_SetDefChunkSize(self._archive, size)
        self._write_global(definitions, ())
        self._close()

    def _take_parts(self) -> None:
        for directory, archive in self._parts:
            with self._errors("write the events"):
                _otf2.Archive_CloseEvtFiles(archive)
                _otf2.Archive_SetDefChunkSize(archive, DEFINITION_CHUNK)  # else the archive could not be closed
                _otf2.Archive_Close(archive)
            try:
                for path in (directory / NAME).iterdir():
                    path.rename(self._inside / NAME / path.name)
                shutil.rmtree(directory)
            except OSError as error:
                raise VtraceError(f"{self.directory}: cannot write the events: {error.strerror}") from error

    def _chunk_bytes(self, definitions: Definitions) -> int:
        try:
            return chunk_bytes(definitions)
        except ValueError as error:
            raise VtraceError(f"{self.directory}: {error}") from error

    def _write_local(self, chunk: int) -> None:
        """Writes the definitions file of each location. All are empty and equal. libotf2 writes the first only, since
        libotf2 searches all locations for each file."""
        numbers = sorted(self.events)
        with self._errors("write the definitions"):
            _otf2.Archive_CloseEvtFiles(self._archive)
            _otf2.Archive_SetDefChunkSize(self._archive, chunk)
            if not self._has_events:
                return
            _otf2.Archive_OpenDefFiles(self._archive)
            for number in numbers[:1]:
                _otf2.Archive_CloseDefWriter(self._archive, _otf2.Archive_GetDefWriter(self._archive, number))
            _otf2.Archive_CloseDefFiles(self._archive)
        try:
            _repeat([f"{self._inside / NAME}/{number}.def" for number in numbers])
        except OSError as error:
            raise VtraceError(f"{self.directory / NAME}: cannot write the definitions: {error.strerror}") from error

    def _bytes_of_events(self) -> int:
        """Bytes of the files that this process has written. Readers detect a missing or cut file by the sum."""
        if not self._has_events:
            return 0
        try:
            return sum(os.stat(self._inside / NAME / f"{number}.evt").st_size for number in self.events)
        except OSError as error:
            raise VtraceError(f"{self.directory}: cannot write the events: {error.strerror}") from error

    def _write_definitions(self, writer: Any, definitions: Definitions) -> None:
        """Writes the definitions to an OTF2_GlobalDefWriter. Raises _otf2.Error."""
        for number, location in enumerate(definitions.locations):
            if self._ranks.size == 1 and number not in self.events:
                raise ValueError(f"location {number} has no events file")
            location.events = location.events or self.events.get(number, 0)
        write_definitions(writer, definitions)

    def _write_global(self, definitions: Definitions, markers: Sequence[Marker]) -> None:
        with self._errors("write the definitions"):
            writer = _otf2.Archive_GetGlobalDefWriter(self._archive)
            self._write_definitions(writer, definitions)
            _otf2.Archive_CloseGlobalDefWriter(self._archive, writer)
        if markers:
            with self._errors("write the markers"):
                self._write_markers(markers)
        with self._errors("write the anchor file"):
            _otf2.Archive_SetCreator(self._archive, plain_text(definitions.creator))
            _otf2.Archive_SetMachineName(self._archive, plain_text(definitions.machine))
            _otf2.Archive_SetDescription(self._archive, plain_text(definitions.description))
            for name, value in definitions.properties.items():
                _otf2.Archive_SetProperty(self._archive, name, plain_text(value), True)

    def _close(self) -> None:
        with self._errors("write the anchor file"):
            archive, self._archive = self._archive, None
            _otf2.Archive_Close(archive)

    def _write_markers(self, markers: Sequence[Marker]) -> None:
        writer = _otf2.Archive_GetMarkerWriter(self._archive)
        numbers: dict[tuple[str, str, str], int] = {}
        kinds = [(marker.group, marker.category, marker.severity) for marker in markers]
        for kind in kinds:
            if kind not in numbers:
                numbers[kind] = len(numbers)
                group, category, severity = plain_text(kind[0]), plain_text(kind[1]), f"SEVERITY_{kind[2]}"
                number = numbers[kind]
                _otf2.MarkerWriter_WriteDefMarker(writer, number, group, category, getattr(_otf2, severity))
        for marker, kind in zip(markers, kinds, strict=True):
            is_local = marker.location is not None
            scope = getattr(_otf2, f"MARKER_SCOPE_{marker.scope if is_local else 'GLOBAL'}")
            reference = marker.location if is_local else _otf2.UNDEFINED_UINT64.value
            text = plain_text(marker.text)
            _otf2.MarkerWriter_WriteMarker(writer, marker.time, marker.duration, numbers[kind], scope, reference, text)
        _otf2.Archive_CloseMarkerWriter(self._archive, writer)

    def abort(self) -> None:
        """Aborts the archive. Without an anchor file no reader accepts it as complete."""
        # libotf2 can only complete an archive, and crashes if it closes a file that it could not write. Its memory is
        # left to the end of the process.
        self._archive = None
        (self._inside / f"{NAME}.otf2").unlink(missing_ok=True)

    def _path(self, location: int | None) -> Path:
        return self.directory if location is None else self.directory / NAME / f"{location}.evt"

    @contextmanager
    def _errors(self, action: str, location: int | None = None) -> Iterator[None]:
        kernel.complaint()  # forget earlier errors
        returned, cause = 0, None
        try:
            yield
        except _otf2.Error as error:
            returned, cause = error.code.value, error
        code, text = kernel.complaint()
        if code or returned:
            text = text.replace(str(self._inside), str(self.directory))
            raise kernel.otf2_error(str(self._path(location)), action, code or returned, text) from cause
