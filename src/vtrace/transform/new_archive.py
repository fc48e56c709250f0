# SPDX-License-Identifier: BSD-3-Clause
"""The archive that a command writes: under a temporary name beside its own, and renamed when complete."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import _otf2

from vtrace.errors import VtraceError
from vtrace.io.archive.writer import Archive, Definitions
from vtrace.io.common.outfile import refuse_foreign


@dataclass
class CopiedDefinitions(Definitions):
    """Definitions that C writes. write: takes the address of an OTF2_GlobalDefWriter, returns OTF2's error code; chunk:
    bytes of the largest definition. more: writes further definitions with an OTF2_GlobalDefWriter."""

    write: Callable[[int], int] = lambda writer: 0
    more: Callable[[Any], None] = lambda writer: None
    chunk: int = 0


class CopiedArchive(Archive):
    """An archive whose definitions may be CopiedDefinitions."""

    def _chunk_bytes(self, definitions: Definitions) -> int:
        return definitions.chunk if isinstance(definitions, CopiedDefinitions) else super()._chunk_bytes(definitions)

    def _write_definitions(self, writer: Any, definitions: Definitions) -> None:
        if not isinstance(definitions, CopiedDefinitions):
            super()._write_definitions(writer, definitions)
            return
        code = definitions.write(ctypes.addressof(writer.contents))
        if code < 0:
            raise MemoryError
        if code:
            raise _otf2.Error(_otf2.ErrorCode(code))
        definitions.more(writer)


def target(path: Path, force: bool) -> Path:
    """The directory of a new archive: path, with the ending .trace.

    Raises VtraceError if the directory exists and force is not set, or if it cannot be created there.
    """
    found = path if path.suffix == ".trace" else path.with_name(f"{path.name}.trace")
    if not found.absolute().parent.is_dir():
        raise VtraceError(f"cannot write {found}", "give -o a name in an existing directory")
    refuse_foreign(found)
    if os.path.lexists(found) and not force:
        raise VtraceError(f"{found} exists", "--force replaces it")
    if force and found.exists() and not (found / "traces.otf2").is_file():
        raise VtraceError(f"{found} exists and is not an archive of vtrace", "give -o another name")
    return found


@contextmanager
def new_archive(path: Path) -> Iterator[CopiedArchive]:
    """An archive that gets its name when the block ends, and is removed if the block raises.

    An earlier archive of this name is removed only then. The temporary names are those that vtrace clean knows. Raises
    VtraceError.
    """
    mark = f"{platform.node()}-{os.getpid()}"
    temporary, old = (path.with_name(f".{path.name}.{kind}-{mark}") for kind in ("tmp", "old"))
    for left in (temporary, old):  # of a killed process with the same number
        refuse_foreign(left)
        shutil.rmtree(left, ignore_errors=True)
    archive = CopiedArchive(temporary)
    try:
        yield archive
        replaced = os.path.lexists(path)
        try:
            if replaced:
                path.rename(old)
            temporary.rename(path)
        except OSError as error:
            if replaced and not os.path.lexists(path):
                old.rename(path)
            raise VtraceError(f"cannot rename the finished archive to {path}: {error.strerror}") from error
        if replaced:
            old.unlink() if old.is_symlink() else shutil.rmtree(old, ignore_errors=True)
    except Exception:
        archive.abort()
        raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
