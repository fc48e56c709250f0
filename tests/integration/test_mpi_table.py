# SPDX-License-Identifier: BSD-3-Clause
"""The shim's table of requests, used by threads without an MPI library."""

from __future__ import annotations

from pathlib import Path

from support.tools import PROGRAMS, ROOT, call, need

FLAGS = ("-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread")


def test_no_completion_of_a_shared_handle_is_lost(tmp_path: Path) -> None:
    includes = [f"-I{ROOT / 'csrc' / part}" for part in ("mpiwrap", "core")]
    call([need("mpicc"), *FLAGS, *includes, PROGRAMS / "mpi_table.c", "-o", "table"], tmp_path)
    done = call(["./table", "1000000"], tmp_path)
    sends = 4_000_000 + sum(2**n - 1 for n in range(1, 12))
    assert done.stdout == f"begun {sends} completed {sends} left 0\n"
