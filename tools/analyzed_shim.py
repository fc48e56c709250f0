#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the MPI shim of the MPICH wheel as C files for gcc's analyzer (make lint).

tools/analyzed_shim.py DIR        writes DIR/*.c and the headers that these files need; prints nothing

One file for each hand-written file of csrc/mpiwrap, and wrappers.c with one wrapper for each template. gcc stops the
analysis of a large file early: the shim as one file takes 63 s and 6 GB, and gcc misses a fault in its last functions.
The wheel has no Fortran binding, so the analyzer sees neither fortran.c, fortran_spawn.c nor templates/fortran.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from vtrace import __version__
from vtrace.wrappers.mpi_shim import generate, mpi_header
from vtrace.wrappers.mpi_shim.installation import find_mpi

_CSRC = Path(__file__).resolve().parents[1] / "csrc"
_INCLUDED = {"init_finalize": '#include "tools.c"\n'}
"""Hand-written files that call static functions of another one."""


def main() -> None:
    """Writes the files. The MPI is that of the mpicc beside this Python."""
    into = Path(sys.argv[1])
    mpi = find_mpi(str(Path(sys.executable).with_name("mpicc")))
    assert mpi is not None
    functions = generate.wrapped(mpi_header.functions(mpi.preprocessed, mpi.library))
    head = generate.head(functions, mpi_header.hidden(mpi.preprocessed), mpi.label, __version__)
    templates = generate.read_templates(_CSRC / "mpiwrap" / "templates")
    examples = {templates.of(f): f for f in functions if f.name not in generate.BY_HAND}
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir()
    for name in ("core.h", "format.h"):
        (into / name).symlink_to(_CSRC / "core" / name)
    # Without functions generate() writes the head, the groups, an empty table and a line for each hand-written file.
    before, *_ = generate.generate([], head, templates).partition(f'#include "{generate.HAND_WRITTEN[0]}.c"')
    (into / "head.h").write_text(f"#define _GNU_SOURCE\n{before}")
    for name in generate.HAND_WRITTEN:
        if name != "tools":
            (into / f"shim_{name}.c").write_text(f'#include "head.h"\n{_INCLUDED.get(name, "")}#include "{name}.c"\n')
    wrappers = "\n".join(generate.wrapper(f, templates) for f in examples.values())
    (into / "wrappers.c").write_text(f'#include "head.h"\n{wrappers}')


if __name__ == "__main__":
    main()
