# SPDX-License-Identifier: BSD-3-Clause
"""Cost of measuring the clock offsets of four nodes, as at MPI_Init, MPI_Finalize and VT_TIMESYNC.

The nodes are ranks on this machine with different host names. Unlike real nodes, the ranks share cores.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from measure import BIN, HERE, Row, at_most, build, run

NODES = 4


def prepare(work: Path) -> None:
    """Builds the program, and the library that gives each rank a host name."""
    build("vtrace-cc", "-vt:cc", "mpicc", "-DVTRACE", "-O2", HERE / "clocks.c", "-o", "clocks_traced", cwd=work)
    script = work / "on_node"
    script.write_text('#!/bin/sh\nhostname node$PMI_RANK\nexec "$@"\n')
    script.chmod(0o755)


def measure(work: Path, repetitions: int) -> list[Row]:
    """The median over repetitions of five measurements each; empty if host names cannot be set."""
    for own in (["unshare", "--uts"], ["unshare", "-r", "--uts"]):
        if subprocess.run([*own, "hostname", "node"], capture_output=True).returncode == 0:
            break
    else:
        return []
    values = []
    for _ in range(repetitions):
        values += run(BIN / "mpiexec", "-n", NODES, *own, "./on_node", "./clocks_traced", 5, cwd=work)
    return [at_most(f"clocks of {NODES} nodes compared, all on this machine", "ms", values, 50)]
