# SPDX-License-Identifier: BSD-3-Clause
"""The variables by which programs load the libraries for devices."""

from __future__ import annotations

import pytest

from vtrace.errors import UsageError
from vtrace.wrappers.launch import choices, device_tools

OURS = "/lib/libvtrace-opencl.so"


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, {}),
        ({"VT_DEVICES": "no"}, {}),
        ({"VT_DEVICES": "yes"}, {"OPENCL_LAYERS": OURS}),
        ({"VT_DEVICES": "OpenCL"}, {"OPENCL_LAYERS": OURS}),
        ({"VT_DEVICES": "yes", "OPENCL_LAYERS": "/a.so:/b.so"}, {"OPENCL_LAYERS": f"/a.so:/b.so:{OURS}"}),
        ({"VT_DEVICES": "yes", "OPENCL_LAYERS": f"{OURS}:/a.so"}, {"OPENCL_LAYERS": f"/a.so:{OURS}"}),
    ],
)
def test_variables(environ: dict[str, str], expected: dict[str, str]) -> None:
    assert device_tools.variables(environ, "/lib") == expected


def test_unknown_kind() -> None:
    with pytest.raises(UsageError, match="--devices=opencl,x: x is no kind of devices"):
        device_tools.variables({"VT_DEVICES": "opencl,x"}, "/lib")


@pytest.mark.parametrize(("word", "value"), [("--devices", "yes"), ("--devices=opencl", "opencl")])
def test_option(word: str, value: str) -> None:
    """The option takes a value only behind an equals sign."""
    chosen = choices.parse([word, "./a", "b"])
    assert chosen is not None
    assert (chosen.devices, chosen.words) == (value, ["./a", "b"])
