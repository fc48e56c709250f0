# SPDX-License-Identifier: BSD-3-Clause
"""HDF5: each transfer of a dataset with its bytes, in serial and parallel programs, in C and through h5py, with the I/O
of the layers below."""

from __future__ import annotations

import json
import signal
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from support.build.builder import AS_WRITTEN, Builder
from support.build.mpis import Mpi, find
from support.build.run import record, run, unify, vtrace
from support.oracles.check import check
from support.readers.archive import Trace, read
from support.tools import call, need, unavailable

SERIAL = ("-I/usr/include/hdf5/serial", "-L/usr/lib/x86_64-linux-gnu/hdf5/serial", "-lhdf5")
ON = {"VT_IOTRACE": "yes"}
ROWS = 5
Operation = tuple[str, str, str, int]
"""Dataset, mode, flags, bytes."""
EXPECTED: list[Operation] = [
    *[("/temperature", "WRITE", "NONE", 32)] * ROWS, ("/temperature", "READ", "NONE", 32 * ROWS),
    ("/group/flags", "WRITE", "NONE", 32), ("/group/flags", "WRITE", "NONE", 64),
]  # fmt: skip


def operations(trace: Trace, location: int | None = None) -> list[Operation]:
    """The operations on handles of HDF5 that have moved bytes, in the order of their ends."""
    begun: dict[tuple[int, int], tuple[str, str]] = {}
    found = []
    for event in trace.events if location is None else trace.of(location):
        if not event.kind.startswith("IoOperation") or trace.handles[event.attrs["handle"]].paradigm != "HDF5":
            continue
        key = event.attrs["handle"], event.attrs["matching_id"]
        if event.kind == "IoOperationBegin":
            begun[key] = event.attrs["mode"], event.attrs["operation_flags"]
        elif event.kind == "IoOperationComplete":
            found.append((trace.handles[key[0]].name, *begun.pop(key), event.attrs["bytes_result"]))
    assert not begun
    return found


def calls(trace: Trace) -> dict[str, int]:
    """The number of calls of each function of HDF5."""
    names = [trace.regions[e.attrs["region"]].name for e in trace.events if e.kind == "Enter"]
    return {name: names.count(name) for name in names if name.startswith("H5")}


def tables(place: Path, archive: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(vtrace(place, "summary", archive, "--json").stdout)
    return found


@pytest.fixture(autouse=True)
def _libraries() -> None:
    kinds = ("serial", "openmpi", "mpich")
    if not all(Path(f"/usr/include/hdf5/{kind}/hdf5.h").exists() for kind in kinds) or not find_spec("h5py"):
        unavailable("libhdf5-dev, libhdf5-openmpi-dev, libhdf5-mpich-dev or h5py is not installed")


@pytest.fixture(scope="module")
def serial(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """A program of vtrace-cc."""
    program = build("hdf5_calls.c", flags=("-O1", *SERIAL))
    return record(program, tmp_path_factory.mktemp("serial"), str(ROWS), env=ON)


def test_operations(serial: Trace) -> None:
    assert operations(serial) == EXPECTED
    assert calls(serial) == {
        "H5Fcreate": 1, "H5Gcreate2": 1, "H5Gclose": 1, "H5Acreate2": 1, "H5Awrite": 1, "H5Aclose": 1, "H5Dcreate2": 2,
        "H5Dwrite": ROWS + 2, "H5Dopen2": ROWS + 1, "H5Dread": 2, "H5Dclose": ROWS + 3, "H5Dset_extent": 1,
        "H5Fclose": 1, "H5close": 1,
    }  # fmt: skip


def test_handles(serial: Trace) -> None:
    """A dataset's parent is its file, whose parent is the descriptor below. A dataset that is opened again has one
    definition."""
    handles = {h.name: h for h in serial.handles.values() if h.paradigm == "HDF5"}
    assert sorted(handles) == ["/group/flags", "/temperature", "out.h5"]
    assert len([h for h in serial.handles.values() if h.paradigm == "HDF5"]) == 3
    file = str(serial.path.parent / "out.h5")
    assert {h.file for h in handles.values()} == {file}
    parents = {name: serial.handles[h.parent] for name, h in handles.items() if h.parent is not None}
    assert {name: (h.name, h.paradigm) for name, h in parents.items()} == {
        "/group/flags": ("out.h5", "HDF5"), "/temperature": ("out.h5", "HDF5"), "out.h5": ("out.h5", "POSIX"),
    }  # fmt: skip


def test_bytes_count_once(serial: Trace) -> None:
    """What HDF5 writes in any of its calls, also metadata, is below its bytes."""
    place = serial.path.parent
    found = tables(place, serial.path.name)
    (file,) = (row for row in found["files"] if row["file"].endswith("/out.h5"))
    read, written = 32 * ROWS, 32 * ROWS + 32 + 64
    assert (file["bytes_read"], file["bytes_written"], file["layers"]) == (read, written, "hdf5 > posix")
    assert file["posix_bytes_written"] >= (place / "out.h5").stat().st_size - 4096
    layers = {row["layer"]: row for row in found["layers"]}
    assert layers["posix"]["nested_bytes_written"] == file["posix_bytes_written"]
    rows = {row["variable"]: (row["bytes_read"], row["bytes_written"], row["processes"]) for row in found["variables"]}
    assert rows == {"/temperature": (read, 32 * ROWS, 1), "/group/flags": (0, 96, 1)}
    assert file["opens"] >= 1


def test_traced_as_untraced(build: Builder, serial: Trace, tmp_path: Path) -> None:
    """The output, with the error stack of failed calls, and all that h5diff sees. The files have times of their own."""
    program = build("hdf5_calls.c", flags=("-O1", *SERIAL), plain=True)
    plain = run(program, tmp_path, str(ROWS))
    assert plain.stdout == "4\n1 1 1 1\n"
    (tmp_path / "out.h5").rename(tmp_path / "plain.h5")
    traced = vtrace(tmp_path, "run", "--io", "--no-sample", program, str(ROWS))
    assert traced.stdout == plain.stdout
    unify(tmp_path, "hdf5_calls")
    for other in ("out.h5", serial.path.parent / "out.h5"):
        assert call([need("h5diff"), "-v", "plain.h5", other], tmp_path).returncode == 0
    assert operations(read(tmp_path / "hdf5_calls.trace")) == EXPECTED


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_parallel(build: Builder, tmp_path: Path, name: str) -> None:
    """Transfers of all ranks together; the file's parent is the handle of MPI-IO."""
    mpi: Mpi = find(name, build)
    flags = (f"-I/usr/include/hdf5/{name}", f"-L/usr/lib/x86_64-linux-gnu/hdf5/{name}", "-lhdf5")
    trace = mpi.record(mpi.build("hdf5_parallel.c", (*AS_WRITTEN, *flags)), tmp_path, ranks=2, env=ON)
    one = ("/u10", "WRITE", "COLLECTIVE", 4000)
    masters = [ref for ref, location in trace.locations.items() if location.name == "Master thread"]
    assert len(masters) == 2
    for master in masters:
        assert operations(trace, master) == [one, one, one, ("/u10", "WRITE", "NONE", 4000)]
    files = [h for h in trace.handles.values() if (h.paradigm, h.name) == ("HDF5", "par.h5")]
    assert [trace.handles[h.parent].paradigm for h in files if h.parent is not None] == ["MPI-IO"] * 2
    found = tables(tmp_path, trace.path.name)
    (file,) = (row for row in found["files"] if row["file"].endswith("/par.h5"))
    assert (file["bytes_written"], file["layers"]) == (32000, "hdf5 > mpi-io > posix")
    assert file["mpi_io_bytes_written"] >= 32000
    assert [(row["variable"], row["processes"]) for row in found["variables"]] == [("/u10", 2)]


def recorded(place: Path, script: str, code: int = 0) -> str:
    """Runs a script under vtrace run, and unifies its files. Returns its output."""
    done = vtrace(place, "run", "--io", "--no-sample", sys.executable, script, check=False)
    assert done.returncode == code, str(done)
    unify(place, Path(script).stem)
    return done.stdout


H5PY = """
import sys, h5py, numpy as np
with h5py.File("model.h5", "w") as f:
    t = f.create_dataset("run/temperature", (100, 50), "f4", chunks=(10, 50), compression="gzip")
    for step in range(100):
        t[step] = np.full(50, step, "f4")
    f["run/names"] = np.array([b"a", b"bc"])
with h5py.File("model.h5") as f:
    print(f["run/temperature"][:].sum(), f["run/names"][:])
"""


def test_h5py(tmp_path: Path) -> None:
    """A library that only a Python module sees; a dataset that gets its name after its data."""
    (tmp_path / "model.py").write_text(H5PY)
    assert recorded(tmp_path, "model.py") == "247500.0 [b'a' b'bc']\n"
    assert operations(read(tmp_path / "model.trace")) == [
        *[("/run/temperature", "WRITE", "NONE", 200)] * 100, ("/run/names", "WRITE", "NONE", 4),
        ("/run/temperature", "READ", "NONE", 20000), ("/run/names", "READ", "NONE", 4),
    ]  # fmt: skip


def test_many_openings(tmp_path: Path) -> None:
    """Each access by name opens and closes the dataset: it has one handle."""
    (tmp_path / "model.py").write_text(
        "import h5py\n"
        "with h5py.File('model.h5', 'w') as f:\n"
        "    f.create_dataset('x', (4,), 'i4')\n"
        "    for _ in range(12000): f['x'][1]\n"
    )
    recorded(tmp_path, "model.py")
    trace = read(tmp_path / "model.trace")
    assert operations(trace) == [("/x", "READ", "NONE", 4)] * 12000
    assert [h.name for h in trace.handles.values() if h.paradigm == "HDF5"] == ["model.h5", "/x"]
    of_x = [e.kind for e in trace.events if e.kind in ("IoCreateHandle", "IoDestroyHandle")
            and trace.handles[e.attrs["handle"]].name == "/x"]  # fmt: skip
    assert of_x == ["IoCreateHandle", "IoDestroyHandle"] * (len(of_x) // 2)


def test_two_libraries(tmp_path: Path) -> None:
    """Each caller gets the library that it was linked with: the C library of Debian beside that of h5py."""
    (tmp_path / "both.py").write_text(
        "import ctypes, h5py\n"
        "other = ctypes.CDLL('/usr/lib/x86_64-linux-gnu/libhdf5_serial_hl.so.100')\n"
        "other.H5LTmake_dataset_float.argtypes = [ctypes.c_int64, ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p,"
        " ctypes.c_void_p]\n"
        "core = ctypes.CDLL('/usr/lib/x86_64-linux-gnu/libhdf5_serial.so.103')\n"
        "core.H5Fcreate.restype = ctypes.c_int64\n"
        "core.H5Fcreate.argtypes = [ctypes.c_char_p, ctypes.c_uint, ctypes.c_int64, ctypes.c_int64]\n"
        "core.H5Fclose.argtypes = [ctypes.c_int64]\n"
        "file = core.H5Fcreate(b'other.h5', 2, 0, 0)\n"
        "n, data = (ctypes.c_uint64 * 1)(3), (ctypes.c_float * 3)(1, 2, 3)\n"
        "assert other.H5LTmake_dataset_float(file, b'wind', 1, n, data) == 0\n"
        "core.H5Fclose(file)\n"
        "print(h5py.File('other.h5')['wind'][:].tolist())\n"
    )
    assert recorded(tmp_path, "both.py") == "[1.0, 2.0, 3.0]\n"
    found = operations(read(tmp_path / "both.trace"))
    assert found[-1] == ("/wind", "READ", "NONE", 12)
    assert ("/wind", "WRITE", "NONE", 12) in found


def test_switched_off(build: Builder, tmp_path: Path) -> None:
    program = build("hdf5_calls.c", flags=("-O1", *SERIAL))
    (tmp_path / "rules").write_text("H5A*;H5G* -- 0\n")
    trace = record(program, tmp_path, "2", env=ON | {"VT_FILTER_SPEC": "rules"})
    assert not [name for name in calls(trace) if name[:3] in ("H5A", "H5G")]
    assert "H5Dwrite" in calls(trace)
    (tmp_path / "off").mkdir()
    assert not calls(record(program, tmp_path / "off", "2", env={"VT_IOTRACE": "no"}))


def test_kill(tmp_path: Path) -> None:
    """A program that ends between two writes without its exit handlers: the trace has all before."""
    kill = "        step == 50 and __import__('os').kill(__import__('os').getpid(), 9)\n"
    (tmp_path / "model.py").write_text(H5PY.replace("        t[step]", f"{kill}        t[step]"))
    recorded(tmp_path, "model.py", code=-signal.SIGKILL)
    trace = check(tmp_path / "model.trace", complete=False)
    assert operations(trace) == [("/run/temperature", "WRITE", "NONE", 200)] * 50
