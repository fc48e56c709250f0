# SPDX-License-Identifier: BSD-3-Clause
"""vtrace run identifies the MPI implementation of a library and of a launcher."""

from __future__ import annotations

from pathlib import Path

from vtrace.wrappers.launch.mpi_library import family, family_of_launcher, launchers_family


def test_families() -> None:
    assert family("/lib/libmpi.so.40.30.4") == "Open MPI"
    assert family("/lib/libmpi.so.12") == family("/lib/libmpich.so.12.2.1") == "MPICH"
    assert family("/lib/libother.so") is None
    assert launchers_family({"OMPI_COMM_WORLD_SIZE": "2", "PMI_RANK": "0"}) == "Open MPI"
    assert launchers_family({"PMI_RANK": "0"}) == "MPICH"
    assert launchers_family({}) is None


def test_launchers(tmp_path: Path) -> None:
    for text, expected in (
        (b"/hydra_pmi_proxy\0", "MPICH"),
        (b"\0libopen-rte.so.40\0", "Open MPI"),
        (b"#!/bin/sh\n", None),
    ):
        (tmp_path / "mpiexec").write_bytes(text)
        assert family_of_launcher(str(tmp_path / "mpiexec")) == expected
    assert family_of_launcher(str(tmp_path / "absent")) is None
