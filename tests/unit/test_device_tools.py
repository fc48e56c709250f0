# SPDX-License-Identifier: BSD-3-Clause
"""The variables by which programs load the libraries for devices."""

from __future__ import annotations

from pathlib import Path

import pytest

from vtrace.errors import UsageError
from vtrace.wrappers.launch import choices, device_tools

CUDA, OURS = "/lib/libvtrace-cuda.so", "/lib/libvtrace-opencl.so"


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, {}),
        ({"VT_DEVICES": "no"}, {}),
        ({"VT_DEVICES": "yes"}, {"CUDA_INJECTION64_PATH": CUDA, "OPENCL_LAYERS": OURS}),
        ({"VT_DEVICES": "OpenCL"}, {"OPENCL_LAYERS": OURS}),
        ({"VT_DEVICES": "opencl", "OPENCL_LAYERS": "/a.so:/b.so"}, {"OPENCL_LAYERS": f"/a.so:/b.so:{OURS}"}),
        ({"VT_DEVICES": "opencl", "OPENCL_LAYERS": f"{OURS}:/a.so"}, {"OPENCL_LAYERS": f"/a.so:{OURS}"}),
    ],
)
def test_variables(environ: dict[str, str], expected: dict[str, str]) -> None:
    assert device_tools.variables(environ, "/lib", []) == (expected, [])


def test_a_tool_of_the_user_for_cuda() -> None:
    """CUDA has room for one tool: the user's stays, told in one line."""
    environ = {"VT_DEVICES": "yes", "CUDA_INJECTION64_PATH": "/nsys.so"}
    changes, (warning,) = device_tools.variables(environ, "/lib", [])
    assert "CUDA_INJECTION64_PATH" not in changes
    assert warning == "CUDA_INJECTION64_PATH=/nsys.so: the program keeps this tool, so CUDA is not recorded"


@pytest.mark.parametrize("has", [True, False])
def test_a_machine_without_a_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, has: bool) -> None:
    """Told to a user who asks for CUDA by name, or whose program has CUDA's runtime library."""
    monkeypatch.setattr(device_tools, "_has_cuda_driver", lambda: has)
    program, other = tmp_path / "program", tmp_path / "other"
    program.write_bytes(b"...libcuda.so.1\0...")
    other.write_bytes(b"...")
    told = [] if has else ["CUDA is not recorded: this machine has no driver (libcuda.so.1)"]
    assert device_tools.variables({"VT_DEVICES": "cuda"}, "/lib", [str(other)])[1] == told
    assert device_tools.variables({"VT_DEVICES": "yes"}, "/lib", [str(program)])[1] == told
    assert device_tools.variables({"VT_DEVICES": "yes"}, "/lib", [str(other)])[1] == []


def test_unknown_kind() -> None:
    with pytest.raises(UsageError, match="--devices=opencl,x: x is no kind of devices"):
        device_tools.variables({"VT_DEVICES": "opencl,x"}, "/lib", [])


@pytest.mark.parametrize(("word", "value"), [("--devices", "yes"), ("--devices=opencl", "opencl")])
def test_option(word: str, value: str) -> None:
    """The option takes a value only behind an equals sign."""
    chosen = choices.parse([word, "./a", "b"])
    assert chosen is not None
    assert (chosen.devices, chosen.words) == (value, ["./a", "b"])
