# SPDX-License-Identifier: BSD-3-Clause
"""Activities of regions that several tools record, and the I/O layers of a synthetic archive."""

from __future__ import annotations

from pathlib import Path

import _otf2
import numpy as np
import pytest

from support.synthetic_runs.archives import UNDEFINED, Foreign
from vtrace.analysis.activity import ACTIVITIES, CLASS_OF, CLASSES, activities_of, activity, layer, waits
from vtrace.analysis.trace import Trace
from vtrace.io.archive.batches import BatchBuffer

TOLD = [
    ("MPI_Send", "POINT2POINT", "MPI", "mpi/p2p"), ("MPI_Wait", "FUNCTION", "MPI", "mpi/p2p"),
    ("MPI_Bcast", "COLL_ONE2ALL", "MPI", "mpi/collective"), ("MPI_Put", "RMA", "MPI", "mpi/rma"),
    ("MPI_Win_lock_all", "FUNCTION", "MPI", "mpi/rma"), ("MPI_File_open", "FILE_IO_METADATA", "MPI", "mpi/io"),
    ("MPI_Init", "FUNCTION", "MPI", "mpi/management/init"),
    ("MPI_Finalize", "FUNCTION", "MPI", "mpi/management/finalize"),
    ("MPI_Initialized", "FUNCTION", "MPI", "mpi/management"), ("MPI_Get_count", "FUNCTION", "MPI", "mpi/management"),
    ("!$omp parallel @a.c:1", "PARALLEL", "OPENMP", "openmp/region"),
    ("!$omp implicit barrier", "IMPLICIT_BARRIER", "OPENMP", "openmp/sync"),
    ("omp_set_lock", "WRAPPER", "OPENMP", "openmp/sync"), ("!$omp task @a.c:1", "TASK", "OPENMP", "openmp/task"),
    ("pwrite64", "FILE_IO", "NONE", "io/posix"), ("__fread_chk", "FILE_IO", "USER", "io/iso-c"),
    ("fputc_unlocked", "FILE_IO", "USER", "io/iso-c"), ("fsync", "FILE_IO", "USER", "io/posix"),
    ("H5Dwrite", "FILE_IO", "NONE", "io/hdf5"), ("fopen64", "FILE_IO_METADATA", "NONE", "io/iso-c"),
    ("malloc", "ALLOCATE", "NONE", "memory"), ("pthread_mutex_lock", "WRAPPER", "PTHREAD", "threads"),
    ("cudaMalloc", "FUNCTION", "CUDA", "library"),
    ("TRACE BUFFER FLUSH", "ARTIFICIAL", "MEASUREMENT_SYSTEM", "tracing"),
    ("main", "FUNCTION", "COMPILER", "user"), ("fwrite", "FUNCTION", "COMPILER", "user"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "role", "paradigm", "expected"), TOLD)
def test_by_role_and_paradigm(name: str, role: str, paradigm: str, expected: str) -> None:
    numbers = (getattr(_otf2, f"REGION_ROLE_{role}").value, getattr(_otf2, f"PARADIGM_{paradigm}").value)
    assert activity(name, *numbers) == expected


def test_by_name_where_the_tool_tells_nothing() -> None:
    names = {
        "mpi_isend_": "mpi/p2p", "MPI_Testall": "mpi/p2p", "MPI_Sendrecv_replace": "mpi/p2p",
        "MPI_Iallreduce": "mpi/collective", "MPI_Neighbor_alltoallw": "mpi/collective",
        "MPI_Reduce_local": "mpi/management", "MPI_Get": "mpi/rma", "MPI_Fetch_and_op": "mpi/rma",
        "MPI_File_write_all": "mpi/io", "MPI_Comm_dup": "mpi/management", "GOMP_barrier": "openmp/sync",
        "pthread_create": "threads", "fwrite": "io/iso-c", "pread": "io/posix", "malloc": "memory", "solve": "user",
    }  # fmt: skip
    roles, paradigms = np.zeros(len(names), int), np.full(len(names), _otf2.PARADIGM_USER.value)
    found = activities_of(list(names), roles, paradigms)
    assert dict(zip(names, [ACTIVITIES[number] for number in found], strict=True)) == names


def test_calls_that_wait() -> None:
    """Calls that wait for others, and their relatives that only start, test or end an operation."""
    waiting = (
        "MPI_Wait mpi_waitall_ PMPI_Waitsome MPI_Recv MPI_Mrecv MPI_Probe MPI_Sendrecv_replace MPI_Ssend MPI_Barrier "
        "MPI_Allreduce_c MPI_Neighbor_alltoallw MPI_Win_fence pthread_mutex_lock pthread_mutex_timedlock "
        "pthread_cond_wait pthread_join pthread_barrier_wait sem_wait omp_set_lock GOMP_barrier poll epoll_wait"
    ).split()
    working = (
        "MPI_Send MPI_Isend MPI_Irecv MPI_Iallreduce MPI_Ibarrier MPI_Allreduce_init MPI_Reduce_local MPI_Test "
        "MPI_Init MPI_Comm_dup MPI_Put pthread_mutex_unlock pthread_mutex_trylock pthread_create pthread_cond_signal "
        "omp_unset_lock omp_test_lock read solve waiter recv"
    ).split()
    names = [*waiting, *working]
    paradigms = np.full(len(names), _otf2.PARADIGM_USER.value)
    found = waits(names, activities_of(names, np.zeros(len(names), int), paradigms))
    assert [name for name, each in zip(names, found.tolist(), strict=True) if each] == waiting
    barrier = activities_of(["!$omp implicit barrier"], np.array([_otf2.REGION_ROLE_IMPLICIT_BARRIER.value]),
                            np.array([_otf2.PARADIGM_OPENMP.value]))  # fmt: skip
    assert waits(["!$omp implicit barrier"], barrier).tolist() == [True]


def test_classes_of_activities() -> None:
    found = {path: CLASSES[number] for path, number in zip(ACTIVITIES, CLASS_OF, strict=True)}
    assert {found[path] for path in ACTIVITIES if path.startswith("mpi/")} == {"MPI"}
    assert (found["io/iso-c"], found["openmp/task"], found["library"]) == ("I/O", "OpenMP", "other library")


def test_layers_by_identification() -> None:
    names = ("POSIX", "POSIX I/O", "ISOC", "ISO C I/O", "MPI-IO", "HDF5", "netCDF", "")
    assert [layer(name) for name in names] == [0, 0, 1, 1, 2, 3, 4, 4]


READ, WRITE = 0, 1


def library(where: Path, above: bool, paradigm: str = "HDF5") -> Trace:
    """H5Dwrite -> MPI_File_write_at -> pwrite of 100, 120 and 130 bytes; then a pwrite of 7 bytes alone and a read of
    unknown size (2**64 - 1).

    above: H5Dwrite has an I/O operation of its own.
    """
    archive = Foreign(where)
    hdf5 = [(1, "IoOperationBegin", 2, WRITE, 0, 100, 1)] if above else []
    done = [(8, "IoOperationComplete", 2, 100, 1)] if above else []
    archive.events(0, [
        (0, "Enter", 0), *hdf5, (2, "Enter", 1), (2, "IoOperationBegin", 1, WRITE, 0, 120, 2), (3, "Enter", 2),
        (3, "IoOperationBegin", 0, WRITE, 0, 130, 3), (5, "IoOperationComplete", 0, 130, 3), (6, "Leave", 2),
        (7, "IoOperationComplete", 1, 120, 2), (7, "Leave", 1), *done, (9, "Leave", 0), (10, "Enter", 2),
        (10, "IoOperationBegin", 0, WRITE, 0, 7, 4), (12, "IoOperationComplete", 0, 7, 4),
        (13, "IoOperationBegin", 0, READ, 0, 2**64 - 1, 5), (14, "IoOperationComplete", 0, 2**64 - 1, 5),
        (15, "Leave", 2),
    ])  # fmt: skip
    archive.begin_definitions()
    archive.machine(length=100)
    archive.location(0)
    archive.region(0, "H5Dwrite", _otf2.REGION_ROLE_FUNCTION.value, _otf2.PARADIGM_NONE.value)
    archive.region(1, "MPI_File_write_at", _otf2.REGION_ROLE_FILE_IO.value, _otf2.PARADIGM_MPI.value)
    archive.region(2, "pwrite", _otf2.REGION_ROLE_FILE_IO.value, _otf2.PARADIGM_NONE.value)
    for number, name in enumerate(("POSIX", "MPI-IO", paradigm)):
        archive.define("IoParadigm", number, name, name, 0, 0, 0, None, None, None)
    for number in range(3 if above else 2):
        archive.define("IoHandle", number, "handle", UNDEFINED, number, 0, UNDEFINED, UNDEFINED)
    return Trace(archive.close())


@pytest.mark.parametrize("batch", [1, 2, 1 << 16])
def test_three_layers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    monkeypatch.setattr("vtrace.analysis.scan.BatchBuffer", lambda: BatchBuffer(batch))
    for above, counted in ((True, 100), (False, 120)):
        trace = library(tmp_path / f"{above}", above)
        table = trace.io()
        assert table["bytes_written"].sum() == counted + 7
        assert table["nested_bytes_written"].sum() == 130 + 120 * above
        assert table["write_ns"].sum() == (7 if above else 5) + 2
        assert (table["bytes_read"].sum(), table["unknown_reads"].sum(), table["reads"].sum()) == (0, 1, 1)


def test_streams(tmp_path: Path) -> None:
    """fwrite of 10 bytes calls write. The bytes of write count only if fwrite has no I/O operation of its own."""
    for number, told in enumerate((True, False)):
        archive = Foreign(tmp_path / str(number))
        begin = [(1, "IoOperationBegin", 1, WRITE, 0, 10, 1)] if told else []
        end = [(6, "IoOperationComplete", 1, 10, 1)] if told else []
        archive.events(0, [
            (0, "Enter", 0), *begin, (2, "Enter", 1), (3, "IoOperationBegin", 0, WRITE, 0, 10, 2),
            (4, "IoOperationComplete", 0, 10, 2), (5, "Leave", 1), *end, (7, "Leave", 0),
        ])  # fmt: skip
        archive.begin_definitions()
        archive.machine(length=100)
        archive.location(0)
        for region, name in enumerate(("fwrite", "write")):
            archive.region(region, name, _otf2.REGION_ROLE_FILE_IO.value, _otf2.PARADIGM_NONE.value)
        for handle, name in enumerate(("POSIX", "ISOC")):
            archive.define("IoParadigm", handle, name, name, 0, 0, 0, None, None, None)
            archive.define("IoHandle", handle, "handle", UNDEFINED, handle, 0, UNDEFINED, UNDEFINED)
        table = Trace(archive.close()).io()
        assert (table["bytes_written"].sum(), table["nested_bytes_written"].sum()) == (10, 10 * told)


def test_marks_end_with_the_window(tmp_path: Path) -> None:
    """The call around an operation counts even if this call begins before the window."""
    assert library(tmp_path / "a", True).io(start=3)["bytes_written"].sum() == 7


@pytest.mark.parametrize("ids", [(0, 1), (7, 3)], ids=["dense", "sparse"])
def test_calls_of_an_undefined_region(tmp_path: Path, ids: tuple[int, int]) -> None:
    """Calls of an undefined region are not the first call of the program, and reading continues after them."""
    archive = Foreign(tmp_path)
    init, write = ids
    archive.events(0, [
        (0, "Enter", 99), (1, "Leave", 99), (2, "Enter", init), (3, "Leave", init), (4, "Enter", write),
        (5, "IoOperationBegin", 0, WRITE, 0, 7, 1), (6, "IoOperationComplete", 0, 7, 1), (7, "Leave", write),
    ])  # fmt: skip
    archive.begin_definitions()
    archive.machine(length=100)
    archive.location(0)
    archive.region(init, "MPI_Init", _otf2.REGION_ROLE_FUNCTION.value, _otf2.PARADIGM_MPI.value)
    archive.region(write, "write", _otf2.REGION_ROLE_FILE_IO.value, _otf2.PARADIGM_NONE.value)
    archive.define("IoParadigm", 0, "POSIX", "POSIX", 0, 0, 0, None, None, None)
    archive.define("IoHandle", 0, "handle", UNDEFINED, 0, 0, UNDEFINED, UNDEFINED)
    table = Trace(archive.close()).io()
    assert table["bytes_written"].tolist() == [7]
