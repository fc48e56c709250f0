# SPDX-License-Identifier: BSD-3-Clause
"""The kernel (libvtrace-transcode.so): unpacks local records and writes them as OTF2 events."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from functools import cache
from typing import Any

import _otf2
import msgpack
import numpy as np

from vtrace.errors import FormatError, VtraceError
from vtrace.io.common.interning import same_array
from vtrace.io.local import records
from vtrace.io.local.kernel_abi import GAP, NOTE, Error, Found, IndexRows, MapPointers, Result, load
from vtrace.io.local.kernel_data import U8, UNMAPPED, Maps, Scan, Transcoded, empty4, no_messages
from vtrace.io.local.local_files import Stream

__all__ = ["UNMAPPED", "Kernel", "Maps", "Scan", "Transcoded"]

_OK, _BAD_LIBRARY, _BAD_DATA, _BAD_OTF2, _NO_MEMORY, _BAD_ARGUMENT = range(6)
_Decompress = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t)


def _unzstd(target: int, capacity: int, source: int, size: int) -> int:
    """Decompression where libzstd.so.1 is missing: one call per block."""
    import zstandard  # only then

    try:
        data = zstandard.ZstdDecompressor().decompress(ctypes.string_at(source, size), max_output_size=capacity)
    except Exception:  # into C no exception may go: all of them mean a damaged block
        return capacity + 1
    if len(data) <= capacity:
        ctypes.memmove(target, data, len(data))
    return len(data)


_zstandard = _Decompress(_unzstd)


@cache
def _library() -> ctypes.CDLL:
    library = load(_otf2.Config.lib_path())
    if not library.vt_kernel_zstd(None):
        library.vt_kernel_zstd(_zstandard)
    return library


def prepare_archive(archive: int) -> int:
    """Gives an OTF2_Archive (its address) what it needs to be written by several threads; returns OTF2's error code."""
    return int(_library().vt_kernel_prepare(archive))


class _Room(threading.local):
    """Memory that the kernel writes to, one for each thread."""

    def __init__(self, size: int) -> None:
        self.buffer = ctypes.create_string_buffer(size)


_text = _Room(256)
_block = _Room(records.RAW_MAX)
"""For one block or chunk. It is kept, since fresh pages for each block take longer than decoding it."""


def complaint() -> tuple[int, str]:
    """OTF2's first error on this thread since the last call: its OTF2_ErrorCode (0: none) and text.

    Some errors are told in no other way: a file whose last bytes could not be written is closed with success.
    """
    code = int(_library().vt_kernel_complaint(_text.buffer, len(_text.buffer)))
    return code, _text.buffer.value.decode("utf-8", "replace").strip() if code else ""


def _copied(pointer: Any, count: int) -> U8:
    """count whole numbers of 8 bytes that C owns."""
    return np.frombuffer(ctypes.string_at(pointer, 8 * count), np.uint64)


def otf2_error(where: str, action: str, code: int, text: str) -> VtraceError:
    """The error for an OTF2_ErrorCode, with OTF2's own words."""
    names = (_otf2.ERROR_ENOSPC.value, _otf2.ERROR_EDQUOT.value, _otf2.ERROR_EFBIG.value)
    hint = "is the disk full, or a quota or size limit reached?" if code in names else None
    description = _otf2.Error_GetDescription(_otf2.ErrorCode(code))
    return VtraceError(f"{where}: OTF2 could not {action}: {description}{f' ({text})' if text else ''}", hint)


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

        Raises FormatError (path, offset of the block) for damage; what the words say is not looked at.
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
        except Exception as error:  # msgpack raises whatever it likes for damaged bytes
            path, offset = stream.where(number)
            raise FormatError(f"{path}: damaged definitions in the block at byte {offset} ({error})") from error
        return good

    def scan(self, stream: Stream, classes: int = records.CLASS_ALL) -> Scan:
        """What a stream's records name, and when they begin and end.

        Only blocks that hold records of classes (CLASS_NEW_CODE: functions and addresses that are new) are read; what
        belongs to other classes may be missing. Raises FormatError (path, offset of the block) for damage.
        """
        found, error = Found(), Error()
        index = np.ascontiguousarray(stream.index)
        call = self.library.vt_kernel_scan
        code = call(index.ctypes.data, len(index), classes, ctypes.byref(found), ctypes.byref(error))
        if code:
            raise self.error(code, error, stream)
        try:
            lists = [
                _copied(pointer, count)
                for pointer, count in (
                    (found.functions, found.nfunctions),
                    (found.addresses, found.naddresses),
                    (found.regions, found.nregions),
                    (found.comms, found.ncomms),
                    (found.handles, found.nhandles),
                    (found.messages, 3 * found.nmessages),
                )
            ]
            first, last = int(found.first_ticks), int(found.last_ticks)
            memory, threads = bool(found.memory), bool(found.threads)
        finally:
            self.library.vt_kernel_scan_free(ctypes.byref(found))
        functions, addresses, *ids, messages = lists
        numbers = (same_array(array.astype(np.uint32)) if len(array) else empty4() for array in (functions, *ids))
        offsets, regions, comms, handles = numbers
        return Scan(
            offsets, same_array(addresses), regions, comms, handles, first, last, memory, threads,
            messages.reshape(-1, 3) if len(messages) else no_messages(), int(index["stored_bytes"].sum()),
            int(np.bitwise_or.reduce(index["classes"], initial=0)),
        )  # fmt: skip

    def transcode(self, evt_writer: int, stream: Stream, maps: Maps) -> Transcoded:
        """Writes all events of a stream with an OTF2_EvtWriter (its address), in one pass, without the GIL.

        Raises FormatError (path, offset of the block) for damage, VtraceError when OTF2 cannot write.
        """
        pointers, error, result = MapPointers(), Error(), Result()
        keep = pointers.fill(maps)
        index = np.ascontiguousarray(stream.index)
        code = self.library.vt_kernel_transcode(
            evt_writer, index.ctypes.data, len(index), ctypes.byref(pointers), ctypes.byref(result),
            ctypes.byref(error),
        )  # fmt: skip
        del keep
        try:
            if code:
                raise self.error(code, error, stream)
            return self._transcoded(result)
        finally:
            self.library.vt_kernel_notes_free(ctypes.byref(result))
            self.library.vt_kernel_gaps_free(ctypes.byref(result))

    def heap(self, evt_writer: int, streams: Sequence[Stream], maps: Maps, metric_class: int) -> Transcoded:
        """Writes the heap of a process, whose locations streams are: Metric events of bytes and blocks in use.

        Joined by time in one pass, without the GIL. Raises as transcode does.
        """
        pointers, error, result, which = MapPointers(), Error(), Result(), ctypes.c_uint32()
        indices = [np.ascontiguousarray(stream.index) for stream in streams]
        rows = (IndexRows * len(streams))(*(IndexRows(index.ctypes.data, len(index), 0) for index in indices))
        keep = [*pointers.fill(maps), *indices]
        code = self.library.vt_kernel_heap(
            evt_writer, rows, len(streams), ctypes.byref(pointers), metric_class, ctypes.byref(result),
            ctypes.byref(which), ctypes.byref(error),
        )  # fmt: skip
        del keep
        if code:
            raise self.error(code, error, streams[which.value])
        return self._transcoded(result)

    def _transcoded(self, result: Result) -> Transcoded:
        notes, gaps = np.zeros(result.nnotes, NOTE), np.zeros(result.ngaps, GAP)
        for array, source in ((notes, result.notes), (gaps, result.gaps)):
            if len(array):
                ctypes.memmove(array.ctypes.data, source, array.nbytes)
        counts = {name: count for name, count in zip(self._names, result.counts[:], strict=True) if count}
        return Transcoded(
            counts=counts, first_ns=result.first_ns, last_ns=result.last_ns, events=result.events, lost=result.lost,
            clamped=result.clamped, unmapped=result.unmapped, closed=result.closed, stray_leaves=result.stray_leaves,
            flush_ns=result.flush_ns, off_ns=result.off_ns, limit_ns=result.limit_ns if result.limit_classes else None,
            flushes=result.flushes, lost_by={why: n for why, n in enumerate(result.lost_by[:]) if n},
            dropped=result.dropped, dropped_ns=result.dropped_ns, unended=result.unended, unbegun=result.unbegun,
            unmatched=result.unmatched, notes=notes.tolist(), limit_why=result.limit_why,
            limit_classes=result.limit_classes, gaps=gaps.tolist(),
        )  # fmt: skip

    def error(self, code: int, error: Error, stream: Stream) -> Exception:
        """The exception for what a function of the kernel returned."""
        if code == _NO_MEMORY:
            return VtraceError("not enough memory to unify")
        text = error.text.decode("utf-8", "replace")
        if code == _BAD_ARGUMENT:
            return ValueError(text)
        path, offset = stream.where(error.row)
        if code == _BAD_OTF2:
            return otf2_error(str(path), "write its events", error.otf2, text)
        at = f", byte {error.offset} of its records" if error.offset else ""
        form = "chunk" if stream.index[error.row]["form"] else "block"
        return FormatError(f"{path}: {text} in the {form} at byte {offset}{at}")
