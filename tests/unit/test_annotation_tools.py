# SPDX-License-Identifier: BSD-3-Clause
"""The variables by which programs load the library for annotations."""

from __future__ import annotations

from pathlib import Path

import pytest

from vtrace.errors import UsageError
from vtrace.left_out import ANNOTATIONS
from vtrace.wrappers.launch import annotation_tools

OURS = "/lib/libvtrace-annotations.so"
ALL = dict.fromkeys(("NVTX_INJECTION64_PATH", "INTEL_LIBITTNOTIFY64", "KOKKOS_TOOLS_LIBS"), OURS)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, ALL),
        ({"VT_ANNOTATIONS": "yes"}, ALL),
        ({"VT_ANNOTATIONS": "no"}, {}),
        ({"VT_ANNOTATIONS": "ITT"}, {"INTEL_LIBITTNOTIFY64": OURS}),
        ({"NVTX_INJECTION64_PATH": OURS}, ALL),
    ],
)
def test_variables(environ: dict[str, str], expected: dict[str, str]) -> None:
    assert annotation_tools.variables(environ, "/lib", []) == (expected, [])


def test_unknown_kind() -> None:
    with pytest.raises(UsageError, match="--annotations nvtx,x: x is no kind of annotations"):
        annotation_tools.variables({"VT_ANNOTATIONS": "nvtx,x"}, "/lib", [])


def test_tools_of_the_user() -> None:
    """Each variable that is set keeps its tool; the other kinds are recorded."""
    changes, warnings = annotation_tools.variables({"KOKKOS_PROFILE_LIBRARY": "/k.so"}, "/lib", [])
    assert changes == {name: path for name, path in ALL.items() if not name.startswith("KOKKOS")}
    assert warnings == [
        "KOKKOS_PROFILE_LIBRARY=/k.so: the program keeps this tool, so its kokkos annotations are not recorded"
    ]


@pytest.mark.parametrize(
    ("texts", "variable"),
    [
        (b"KOKKOS_PROFILE_LIBRARY", "KOKKOS_PROFILE_LIBRARY"),
        (b"KOKKOS_PROFILE_LIBRARY KOKKOS_TOOLS_LIBS", "KOKKOS_TOOLS_LIBS"),
        (b"", "KOKKOS_TOOLS_LIBS"),
    ],
)
def test_generations_of_kokkos(tmp_path: Path, texts: bytes, variable: str) -> None:
    library = tmp_path / "libkokkoscore.so"
    library.write_bytes(b"\0" + texts + b"\0")
    changes, _ = annotation_tools.variables({"VT_ANNOTATIONS": "kokkos"}, "/lib", [str(library)])
    assert changes == {variable: OURS}


def test_kinds_are_those_of_the_ledger() -> None:
    assert {*annotation_tools.VARIABLES} == ANNOTATIONS
