# SPDX-License-Identifier: BSD-3-Clause
"""The kernel (libvtrace-transcode.so): unpacks local records and writes them as OTF2 events."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import _otf2
import msgpack
import numpy as np

from vtrace.errors import FormatError, VtraceError
from vtrace.io.common.arrays import Array, view
from vtrace.io.common.interning import same_array
from vtrace.io.common.schema import Prototypes, declare, library
from vtrace.io.local import records
from vtrace.io.local.index import CHUNK_FORM
from vtrace.io.local.local_files import INDEX, Stream
from vtrace.io.local.maps import U4, U8, Maps, SampleMaps, empty4
from vtrace.io.local.records import SCHEMA, UNMAPPED

__all__ = ["NO_WAITS", "UNMAPPED", "Kernel", "Maps", "Scan", "Transcoded"]

Error = SCHEMA.structure("vt_error")
IndexRows = SCHEMA.structure("vt_stream")
_Found = SCHEMA.structure("vt_scan")
_Result, _Tree = SCHEMA.structure("vt_transcoded"), SCHEMA.structure("vt_contexts")
_FoundSamples = SCHEMA.structure("vt_sample_scan")
_NOTE, _GAP = (SCHEMA.dtype(name) for name in ("vt_note", "vt_gap"))
NO_WAITS = np.empty(0, SCHEMA.dtype("vt_wait"))
RESULTS = SCHEMA.enumerations["vt_result"]
"""Results of the functions of the kernel."""

_int, _u32, _pointer, _size, _text_in = ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p
_FUNCTIONS: Prototypes = {
    "vt_kernel_open": (_int, [_text_in, _text_in, _size]),
    "vt_kernel_zstd": (_int, [_pointer]),
    "vt_kernel_event": (_text_in, [_u32]),
    "vt_kernel_prepare": (_int, [_pointer]),
    "vt_kernel_complaint": (_int, [_text_in, _size]),
    "vt_kernel_decode": (_int, [_pointer, _text_in, _pointer]),
    "vt_kernel_scan": (_int, [_pointer, _u32, _u32, _pointer, _pointer]),
    "vt_kernel_scan_free": (None, [_pointer]),
    "vt_kernel_samples": (_int, [_pointer, _u32, _pointer, _pointer]),
    "vt_kernel_samples_free": (None, [_pointer]),
    "vt_kernel_transcode": (_int, [_pointer, _pointer, _u32, *[_pointer] * 6]),
    "vt_kernel_contexts": (_int, [_pointer, _u32, _pointer, _pointer, _pointer, _pointer]),
    "vt_kernel_contexts_free": (None, [_pointer]),
    "vt_kernel_write_contexts": (_int, [_pointer, ctypes.c_uint64, _pointer, _pointer, _pointer]),
    "vt_kernel_notes_free": (None, [_pointer]),
    "vt_kernel_gaps_free": (None, [_pointer]),
    "vt_kernel_waits_free": (None, [_pointer]),
    "vt_kernel_heap": (_int, [_pointer, _pointer, _u32, _pointer, _u32, *[_pointer] * 5]),
    "vt_kernel_times": (_int, [_pointer, _pointer, _u32]),
}
_Decompress = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t)


def _unzstd(target: int, capacity: int, source: int, size: int) -> int:
    """Decompresses a block if libzstd.so.1 is missing."""
    import zstandard  # only if needed

    try:
        data = zstandard.ZstdDecompressor().decompress(ctypes.string_at(source, size), max_output_size=capacity)
    except Exception:  # no exception may reach C: all of them mean a damaged block
        return capacity + 1
    if len(data) <= capacity:
        ctypes.memmove(target, data, len(data))
    return len(data)


_zstandard = _Decompress(_unzstd)


@cache
def _library() -> ctypes.CDLL:
    """The library, which calls the libotf2 of the otf2 package. Raises VtraceError if one of them cannot be loaded."""
    functions = library()
    declare(functions, _FUNCTIONS)
    text = ctypes.create_string_buffer(256)
    if functions.vt_kernel_open(_otf2.Config.lib_path().encode(), text, len(text)):
        raise VtraceError(f"cannot use OTF2: {text.value.decode('utf-8', 'replace')}", "reinstall the otf2 package")
    if not functions.vt_kernel_zstd(None):
        functions.vt_kernel_zstd(_zstandard)
    return functions


def prepare_archive(archive: int) -> int:
    """Sets the callbacks of an OTF2_Archive (its address), so that several threads can write it.

    Returns OTF2's error code.
    """
    return int(_library().vt_kernel_prepare(archive))


def write_contexts(definition_writer: int, regions: U4, lines: U4, parents: U4) -> int:
    """Writes calling contexts with an OTF2_GlobalDefWriter (its address). Returns OTF2's error code."""
    arrays = [np.ascontiguousarray(array, np.uint32) for array in (regions, lines, parents)]
    pointers = (array.ctypes.data for array in arrays)
    return int(_library().vt_kernel_write_contexts(definition_writer, len(regions), *pointers))


class _Room(threading.local):
    """Memory that the kernel writes to; each thread has its own."""

    def __init__(self, size: int) -> None:
        self.buffer = ctypes.create_string_buffer(size)


_text = _Room(256)
_block = _Room(records.RAW_MAX)
"""Memory for one block or chunk, kept because new pages for each block take longer than decoding the block."""


def complaint() -> tuple[int, str]:
    """OTF2's first error on this thread since the last call: its OTF2_ErrorCode (0: none) and text.

    Some errors are only visible here: OTF2 returns success for closing a file even if writing its last bytes failed.
    """
    code = int(_library().vt_kernel_complaint(_text.buffer, len(_text.buffer)))
    return code, _text.buffer.value.decode("utf-8", "replace").strip() if code else ""


def otf2_error(where: str, action: str, code: int, text: str) -> VtraceError:
    """The error for an OTF2_ErrorCode, with OTF2's text."""
    names = (_otf2.ERROR_ENOSPC.value, _otf2.ERROR_EDQUOT.value, _otf2.ERROR_EFBIG.value)
    hint = "is the disk full, or a quota or size limit reached?" if code in names else None
    description = _otf2.Error_GetDescription(_otf2.ErrorCode(code))
    return VtraceError(f"{where}: OTF2 could not {action}: {description}{f' ({text})' if text else ''}", hint)


class Listener:
    """Gets the events of a location in full batches while the kernel writes them (csrc/otf2_writer/listener.h)."""

    _Full = ctypes.CFUNCTYPE(ctypes.c_int)

    def __init__(self, batch: int | None, take: Callable[[], None]) -> None:
        """batch: address of a struct vt_batch, whose last events are left in it; None: no listener. take: takes the
        events of the full batch, and clears it."""
        self.batch, self._take = batch, take
        self.full = self._Full(self._on_full)
        self.events = 0
        """The number of events of the pass, of all kinds, given or not."""
        self._error: BaseException | None = None

    def _on_full(self) -> int:
        try:
            self._take()
        except BaseException as error:  # no exception may reach C
            self._error = error
            return 1
        return 0

    def check(self) -> None:
        """Raises the exception that `take` has raised."""
        if self._error is not None:
            raise self._error

    @property
    def is_done(self) -> bool:
        """True if the listener has ended the pass because it needs no further events."""
        return False


NO_LISTENER = Listener(None, lambda: None)
_NO_MESSAGES: U8 = np.empty((0, 3), np.uint64)


@dataclass(slots=True, kw_only=True)
class Scan:
    """The ids in a location's records, each array ascending. Times (ticks): the start of its first block, the last
    record."""

    functions: U4
    """Offsets in the code space."""
    addresses: U8
    """Addresses of functions without a place in the code space."""
    regions: U4
    """Local ids; comms and handles, too."""
    comms: U4
    handles: U4
    first_ticks: int
    last_ticks: int
    memory: bool
    """True if there are records of the heap."""
    threads: bool = False
    """True if there may be records of threads that begin and end."""
    messages: U8 = field(default_factory=lambda: _NO_MESSAGES)
    """Messages of the user API, in order: ticks, local communicator (+ 2**32 for a receive), tag."""
    stored: int = 0
    """Bytes of the blocks."""
    classes: int = 0
    """Classes of records that the blocks may have."""
    records: int = 0
    """Number of records in the blocks."""
    event_ticks: int = 0
    """Time of the first event; of the first block, if the block was not read."""


@dataclass(slots=True, kw_only=True)
class SampleScan:
    """The frames and weights of a location's samples, each ascending, their number, and the ticks of the first and the
    last one."""

    frames: U8
    weights: U8
    samples: int
    first_ticks: int
    last_ticks: int


@dataclass(slots=True)
class ContextTree:
    """Calling contexts. For each context, of which the first one is the root: the context around it, which has a
    smaller number, and its step."""

    parents: U4
    steps: U4


@dataclass(slots=True)
class SampledStream:
    """The samples of a location (None: it has none), and the maps for its calling contexts."""

    stream: Stream | None
    maps: SampleMaps

    def pointers(self) -> tuple[ctypes.Structure, list[Any]]:
        rows = np.empty(0, INDEX) if self.stream is None else np.ascontiguousarray(self.stream.index)
        return self.maps.pointers(rows)


@dataclass(slots=True)
class Transcoded:
    """The events that were written for one location, by the names of struct vt_transcoded. Times in ns since the
    archive's zero."""

    counts: dict[str, int]
    """OTF2's name of an event ("Enter", "MpiSend" ...) -> number of such events; only events that occur."""
    first_ns: int
    """Time of the first event."""
    last_ns: int
    """Time of the last record, which may be an event that was left out; no event is later."""
    events: int
    lost: int
    """Events that were never recorded (LOST records)."""
    clamped: int
    """Number of times that would have run backwards, and were set to the time of the previous event."""
    unmapped: int
    closed: int
    """Regions that were still open at the end, at a missing chunk, or when another thread took the location."""
    stray_leaves: int
    """Leaves without an enter, left out."""
    flush_ns: int
    off_ns: int
    limit_ns: int | None
    """Time at which the location stopped recording all or some classes of records for good."""
    flushes: int
    limit_why: int = 0
    """The reason (records.LOST_REASONS)."""
    limit_classes: int = 0
    """Classes of records (CLASS_...) that stopped then, CLASS_ALL: all; 0: the location did not stop."""
    lost_by: dict[int, int] = field(default_factory=dict)
    """Lost events by reason (records.LOST_REASONS; 0: another reason)."""
    dropped: int = 0
    """Records that a flight recorder (VT_MODE=RING) has overwritten."""
    dropped_ns: int = 0
    """End of the last overwritten record: from here on the location is recorded."""
    unended: int = 0
    """Regions of the user API that the program began and did not end."""
    unbegun: int = 0
    """Ends of such regions without a start, left out."""
    unmatched: int = 0
    """Messages of the user API without a partner, left out."""
    notes: Sequence[tuple[int, int, int]] = ()
    """Markers and comments: ns, local marker (UNMAPPED: a comment), local text."""
    gaps: Sequence[tuple[int, int, int, int, int, int]] = ()
    """Intervals without recording: from, to (records.GAP_OPEN: until the end of the process), ns, number of events
    (records.GAP_UNKNOWN), CLASS_ bits, reason (records.LOST_REASONS and GAP_REASONS)."""
    waits: Array = field(default_factory=lambda: NO_WAITS, compare=False)
    """Intervals in which the thread waited for a processor, struct vt_wait: from, to, ns of waiting, the innermost open
    region (UNMAPPED: none), number of waits that became this one, a hash of the open regions, 0."""
    blocked: Array = field(default_factory=lambda: NO_WAITS, compare=False)
    """Intervals in which the thread was asleep in the kernel, also struct vt_wait; at the end the process's text of the
    call that slept, 0: unknown."""


def _index(stream: Stream | None) -> np.ndarray[Any, np.dtype[np.void]]:
    return np.empty(0, INDEX) if stream is None else np.ascontiguousarray(stream.index)


def _ids(address: int | None, count: int) -> U4:
    """A copy of ids, which C has in 64 bits each; one object for equal ones."""
    return same_array(view(address, count, np.uint64).astype(np.uint32)) if count else empty4()


class Kernel:
    """Unpacks, scans and transcodes streams. All methods may run in several threads at once."""

    def __init__(self) -> None:
        """Loads the kernel, and into it the libotf2 of the otf2 package. Raises VtraceError."""
        self.library = _library()
        self._names: list[str] = []
        while name := self.library.vt_kernel_event(len(self._names)):
            self._names.append(name.decode())

    def definitions(self, stream: Stream) -> list[list[Any]]:
        """All definitions of a stream, in order: lists that begin with the number of enum vt_definition.

        Raises FormatError (path, offset of the block) for damage.
        """
        rows = range(len(stream.index))
        return [item for number in rows for item in self._unpack(self._raw(stream, number), stream, number)]

    def words(self, stream: Stream, number: int) -> U8:
        """The words of the records in row number of a stream of events.

        Raises FormatError (path, offset of the block) for damage; the words themselves are not checked.
        """
        return np.frombuffer(self._raw(stream, number), np.uint64)

    def _raw(self, stream: Stream, number: int) -> bytes:
        row = np.ascontiguousarray(stream.index[number : number + 1])
        raw, error = _block.buffer, Error()
        code = self.library.vt_kernel_decode(row.ctypes.data, raw, ctypes.byref(error))
        if code:
            error.row = number
            raise self.error(code, error, stream)
        return ctypes.string_at(raw, int(row[0]["raw_bytes"]))

    def _unpack(self, data: bytes, stream: Stream, number: int) -> list[list[Any]]:
        limit = len(data)
        unpacker = msgpack.Unpacker(
            None, max_buffer_size=records.CHUNK_SIZE, max_str_len=limit, max_bin_len=limit, max_array_len=limit,
            max_map_len=0, max_ext_len=0, unicode_errors="surrogateescape",
        )  # fmt: skip
        unpacker.feed(data)
        good: list[list[Any]] = []
        end = 0
        try:
            for item in unpacker:
                if not isinstance(item, list) or not item or not isinstance(item[0], int):
                    raise ValueError("not a definition")
                good.append(item)
                end = unpacker.tell()
            if end != limit:
                raise ValueError("cut")
        except Exception as error:  # msgpack raises any exception for damaged bytes
            path, offset = stream.where(number)
            raise FormatError(f"{path}: damaged definitions in the block at byte {offset} ({error})") from error
        return good

    def scan(self, stream: Stream, classes: int = records.CLASS_ALL) -> Scan:
        """The ids in the records of a stream, and the times of the first and last record.

        Only blocks with records of classes (CLASS_NEW_CODE: functions and addresses that are new) are read; ids of
        other classes may be missing. Raises FormatError (path, offset of the block) for damage.
        """
        found, error = _Found(), Error()
        index = np.ascontiguousarray(stream.index)
        call = self.library.vt_kernel_scan
        code = call(index.ctypes.data, len(index), classes, ctypes.byref(found), ctypes.byref(error))
        if code:
            raise self.error(code, error, stream)
        try:
            return Scan(
                functions=_ids(found.functions, found.nfunctions),
                addresses=same_array(view(found.addresses, found.naddresses, np.uint64).copy()),
                regions=_ids(found.regions, found.nregions),
                comms=_ids(found.comms, found.ncomms),
                handles=_ids(found.handles, found.nhandles),
                first_ticks=found.first_ticks,
                last_ticks=found.last_ticks,
                memory=bool(found.memory),
                threads=bool(found.threads),
                messages=view(found.messages, 3 * found.nmessages, np.uint64).copy().reshape(-1, 3)
                if found.nmessages
                else _NO_MESSAGES,
                stored=int(index["stored_bytes"].sum()),
                classes=int(np.bitwise_or.reduce(index["classes"], initial=0)),
                records=int(index["records"].sum()),
                event_ticks=found.event_ticks,
            )
        finally:
            self.library.vt_kernel_scan_free(ctypes.byref(found))

    def samples(self, stream: Stream) -> SampleScan:
        """The content of a stream's samples. Raises FormatError (path, offset of the block) for damage."""
        found, error = _FoundSamples(), Error()
        index = np.ascontiguousarray(stream.index)
        code = self.library.vt_kernel_samples(index.ctypes.data, len(index), ctypes.byref(found), ctypes.byref(error))
        if code:
            raise self.error(code, error, stream)
        try:
            return SampleScan(
                frames=same_array(view(found.frames, found.nframes, np.uint64).copy()),
                weights=same_array(view(found.weights, found.nweights, np.uint64).copy()),
                samples=found.samples,
                first_ticks=found.first_ticks,
                last_ticks=found.last_ticks,
            )
        finally:
            self.library.vt_kernel_samples_free(ctypes.byref(found))

    def contexts(self, stream: Stream | None, maps: Maps, sampled: SampledStream) -> ContextTree:
        """The calling contexts of a location's events and samples, in the order in which transcode meets them.

        Raises as transcode does.
        """
        error, found = Error(), _Tree()
        (pointers, keep), (others, more) = maps.pointers(), sampled.pointers()
        index = _index(stream)
        code = self.library.vt_kernel_contexts(
            index.ctypes.data, len(index), ctypes.byref(pointers), ctypes.byref(others), ctypes.byref(found),
            ctypes.byref(error),
        )  # fmt: skip
        del keep, more
        if code:
            raise self.error_of(code, error, stream, sampled)
        try:
            return ContextTree(*(view(at, found.count, np.uint32).copy() for at in (found.parents, found.steps)))
        finally:
            self.library.vt_kernel_contexts_free(ctypes.byref(found))

    def transcode(
        self, evt_writer: int | None, stream: Stream | None, maps: Maps, sampled: SampledStream | None = None,
        *, listener: Listener = NO_LISTENER,
    ) -> Transcoded:  # fmt: skip
        """Writes all events of a stream with an OTF2_EvtWriter (its address; None: a listener alone gets them), in one
        pass, without the GIL.

        sampled: for an archive with calling contexts; without it calls become Enter and Leave. Raises FormatError
        (path, offset of the block) for damage, VtraceError when OTF2 cannot write, and the listener's exceptions.
        """
        error, result = Error(), _Result()
        pointers, keep = maps.pointers()
        others, more = sampled.pointers() if sampled else (None, [])
        index = _index(stream)
        code = self.library.vt_kernel_transcode(
            evt_writer, index.ctypes.data, len(index), ctypes.byref(pointers),
            None if others is None else ctypes.byref(others), listener.batch, listener.full, ctypes.byref(result),
            ctypes.byref(error),
        )  # fmt: skip
        del keep, more
        listener.events = result.events
        try:
            listener.check()
            if code and not listener.is_done:
                raise self.error_of(code, error, stream, sampled)
            return self.transcoded(result)
        finally:
            self.free(result)

    def free(self, result: ctypes.Structure) -> None:
        """Frees the arrays of a struct vt_transcoded."""
        self.library.vt_kernel_notes_free(ctypes.byref(result))
        self.library.vt_kernel_gaps_free(ctypes.byref(result))
        self.library.vt_kernel_waits_free(ctypes.byref(result))

    def error_of(
        self, code: int, error: ctypes.Structure, stream: Stream | None, sampled: SampledStream | None
    ) -> Exception:
        """The exception for an error in the events or, for a row after the last one of events, in the samples of a
        location."""
        rows = len(stream.index) if stream else 0
        if sampled and sampled.stream and error.row >= rows:
            error.row -= rows
            return self.error(code, error, sampled.stream)
        return self.error(code, error, stream)

    def heap(  # noqa: PLR0917
        self,
        evt_writer: int | None,
        streams: Sequence[Stream],
        maps: Maps,
        metric_class: int,
        listener: Listener = NO_LISTENER,
    ) -> Transcoded:
        """Writes the heap of a process as Metric events of bytes and blocks in use. streams: of its locations.

        The streams are joined by time in one pass, without the GIL. Raises as transcode does.
        """
        error, result, which = Error(), _Result(), ctypes.c_uint32()
        indices = [np.ascontiguousarray(stream.index) for stream in streams]
        rows = (IndexRows * len(streams))(*(IndexRows(index.ctypes.data, len(index), 0) for index in indices))
        pointers, keep = maps.pointers()
        code = self.library.vt_kernel_heap(
            evt_writer, rows, len(streams), ctypes.byref(pointers), metric_class, listener.batch, listener.full,
            ctypes.byref(result), ctypes.byref(which), ctypes.byref(error),
        )  # fmt: skip
        del keep
        listener.events = result.events
        listener.check()
        if code and not listener.is_done:
            raise self.error(code, error, streams[which.value])
        return self.transcoded(result)

    def times(self, maps: Maps, ticks: Sequence[int]) -> U8:
        """The times of ticks in the archive, ns since its zero, by the clock of these maps."""
        found = np.array(ticks, np.uint64)
        pointers, keep = maps.pointers()
        self.library.vt_kernel_times(ctypes.byref(pointers), found.ctypes.data, len(found))
        del keep
        return found

    def transcoded(self, result: ctypes.Structure) -> Transcoded:
        """A struct vt_transcoded, whose arrays are copied."""
        counts = {name: count for name, count in zip(self._names, result.counts[:], strict=True) if count}
        values = {name: getattr(result, name) for name in Transcoded.__slots__}
        values |= {"counts": counts, "lost_by": {why: n for why, n in enumerate(result.lost_by[:]) if n}}
        values["limit_ns"] = result.limit_ns if result.limit_classes else None
        values["notes"] = view(result.notes, result.nnotes, _NOTE).tolist()
        values["gaps"] = view(result.gaps, result.ngaps, _GAP).tolist()
        values["waits"] = view(result.waits, result.nwaits, NO_WAITS.dtype).copy()
        values["blocked"] = view(result.blocked, result.nblocked, NO_WAITS.dtype).copy()
        return Transcoded(**values)

    def error(self, code: int, error: ctypes.Structure, stream: Stream | None) -> Exception:
        """The exception for the result of a function of the kernel."""
        if code == RESULTS["NO_MEMORY"]:
            return VtraceError("not enough memory to unify")
        text = error.text.decode("utf-8", "replace")
        if code == RESULTS["BAD_ARGUMENT"]:
            return ValueError(text)
        if stream is None or not len(stream.index):
            return otf2_error("the archive", "write its events", error.otf2, text)
        path, offset = stream.where(error.row)
        if code == RESULTS["BAD_OTF2"]:
            return otf2_error(str(path), "write its events", error.otf2, text)
        at = f", byte {error.offset} of its records" if error.offset else ""
        form = "chunk" if stream.index[error.row]["form"] == CHUNK_FORM else "block"
        return FormatError(f"{path}: {text} in the {form} at byte {offset}{at}")
