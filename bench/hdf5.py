# SPDX-License-Identifier: BSD-3-Clause
"""Transfers of datasets of HDF5, against the untraced program."""

from __future__ import annotations

from pathlib import Path

from measure import HERE, Row, at_most, build, run

from vtrace.paths import LIB

CALLS = 200_000
TEXTS = ("what tracing adds to an H5Dwrite of a selection, CPU", "the same of a whole dataset, CPU")
ON = {"VT_IOTRACE": "yes", "VT_BUFFER_SIZE": "64M", "VT_MAX_FLUSHES": "0"}


def prepare(work: Path) -> None:
    """Builds the program with Debian's serial HDF5."""
    flags = ("-I/usr/include/hdf5/serial", "-L/usr/lib/x86_64-linux-gnu/hdf5/serial")
    build("cc", "-O2", *flags, HERE / "hdf5.c", "-o", "hdf5", "-lhdf5", cwd=work)


def measure(work: Path, repetitions: int) -> list[Row]:
    """The difference to the untraced program of the same repetition."""
    added: list[list[float]] = [[], []]
    for _ in range(repetitions):
        plain = run("./hdf5", CALLS, cwd=work)
        traced = run("./hdf5", CALLS, cwd=work, LD_PRELOAD=str(LIB / "libvtrace-hdf5.so"), **ON)
        for values, one, other in zip(added, plain, traced, strict=True):
            values.append(other - one)
    return [at_most(text, "ns a call", values, 150) for text, values in zip(TEXTS, added, strict=True)]
