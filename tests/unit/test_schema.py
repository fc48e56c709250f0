# SPDX-License-Identifier: BSD-3-Clause
"""The structures that Python and C share: C states the offset of each field, and the tests find missing fields."""

from __future__ import annotations

import ctypes
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from support.tools import ROOT, call, need
from vtrace import paths
from vtrace.errors import VtraceError
from vtrace.io.archive import reader_abi
from vtrace.io.common import schema
from vtrace.io.local import records

SCHEMAS = {"kernel": records.SCHEMA, "reader": reader_abi._SCHEMA}
STRUCTURES = [(which, name) for which, found in SCHEMAS.items() for name in found._fields]


@pytest.mark.parametrize(("which", "name"), STRUCTURES, ids=[name for _, name in STRUCTURES])
def test_numpy_and_ctypes_agree_with_c(which: str, name: str) -> None:
    """Only ctypes reads structures with pointers, and only numpy those with nested structures."""
    found = SCHEMAS[which]
    fields = found._fields[name]
    expected = [(field.name, field.offset, field.size) for field in fields]
    size = sum(field.size for field in fields)
    pointers = any(field.type[0] == "p" for field in fields)
    nested = any(field.type in found._fields for field in fields)
    assert not (pointers and nested)
    if not pointers:
        dtype = found.dtype(name)
        assert dtype.fields is not None
        assert [(n, offset, kind.itemsize) for n, (kind, offset) in dtype.fields.items()] == expected
        assert dtype.itemsize == size
    if not nested:
        structure = found.structure(name)
        places = [(word, getattr(structure, word)) for word, *_ in structure._fields_]
        assert [(word.rstrip("_"), place.offset, place.size) for word, place in places] == expected
        assert ctypes.sizeof(structure) == size


def test_types() -> None:
    """A known field of each type."""
    assert records.FILE["magic"] == np.dtype("S8")
    assert records.FILE["run"] == np.dtype("V16")
    assert records.FILE["pair"] == records.CLOCK_PAIR
    assert records.CHUNK["open"] == np.dtype(("<u8", records.OPEN_MAX))
    assert reader_abi.STATS["deviations"] == np.dtype("<f8")
    assert reader_abi.SLICE["begin"] == np.dtype("<i8")
    pointed = records.SCHEMA.pointed("vt_maps")
    assert pointed.items() >= {"addresses": np.dtype("<u8"), "user_regions": np.dtype("u1")}.items()
    assert len(pointed) == 31


def compiled(sources: Path, name: str, where: Path) -> str:
    done = call([need("gcc"), "-std=gnu11", "-fsyntax-only", f"-I{sources}", sources / name], where, check=False)
    assert (done.returncode == 0) == (done.stderr == "")
    return done.stderr


@pytest.mark.parametrize(
    ("header", "after", "source", "structure"),
    [
        ("core/format.h", "char host[64];", "otf2_writer/schema.c", "vt_file"),
        ("otf2_writer/transcode.h", "uint32_t marker, text;", "otf2_writer/schema.c", "vt_note"),
        ("otf2_reader/stack_replay.h", "uint32_t region, depth;", "otf2_reader/structures.c", "vt_slice"),
    ],
)
def test_a_forgotten_field_does_not_compile(
    tmp_path: Path, header: str, after: str, source: str, structure: str
) -> None:
    shutil.copytree(ROOT / "csrc", tmp_path / "csrc")
    assert compiled(tmp_path / "csrc", source, tmp_path) == ""
    path = tmp_path / "csrc" / header
    assert path.read_text().count(after) == 1
    path.write_text(path.read_text().replace(after, f"{after} uint64_t further;"))
    assert f"all fields of {structure}" in compiled(tmp_path / "csrc", source, tmp_path)


def test_a_missing_library_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "LIB", tmp_path)
    with pytest.raises(VtraceError, match=r"cannot load .*libvtrace-transcode\.so"):
        schema.library.__wrapped__()
    package = tmp_path / "lib" / "vtrace"
    shutil.copytree(paths.LIB.parent, package, ignore=shutil.ignore_patterns("libvtrace-transcode.so"))
    code = (
        f"import sys; sys.path.insert(0, {str(package.parent)!r}); sys.argv = ['vtrace', 'dump', 'nothing']; "
        "from vtrace.main import main; sys.exit(main())"
    )
    done = call([sys.executable, "-c", code], tmp_path, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("vtrace: error: cannot load ")
    assert "Traceback" not in done.stderr
