# SPDX-License-Identifier: BSD-3-Clause
"""Whose MPI a library and a launcher are."""

from __future__ import annotations

from vtrace.wrappers.mpi_library import family, launchers_family


def test_families() -> None:
    assert family("/lib/libmpi.so.40.30.4") == "Open MPI"
    assert family("/lib/libmpi.so.12") == family("/lib/libmpich.so.12.2.1") == "MPICH"
    assert family("/lib/libother.so") is None
    assert launchers_family({"OMPI_COMM_WORLD_SIZE": "2", "PMI_RANK": "0"}) == "Open MPI"
    assert launchers_family({"PMI_RANK": "0"}) == "MPICH"
    assert launchers_family({}) is None
