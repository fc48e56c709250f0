# SPDX-License-Identifier: BSD-3-Clause
"""CUDA on a GPU, where the machine has one, and nvcc: counts and bytes in closed form."""

from __future__ import annotations

import ctypes
import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from support.build.run import unify, vtrace
from support.oracles.check import check
from support.readers.devices import calls, seen, streams
from support.tools import PROGRAMS, call

BYTES = 4 << 20
SCALE = "scale(float*, float)"


def has_gpu() -> bool:
    """The driver finds a device."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    return not driver.cuInit(0) and not driver.cuDeviceGetCount(ctypes.byref(count)) and count.value > 0


@pytest.fixture
def program(tmp_path: Path) -> Path:
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if not nvcc:
        pytest.skip("nvcc is not installed")
    made = tmp_path / "cuda_real"
    call([nvcc, "-O1", "-o", made, PROGRAMS / "cuda_real.cu"], tmp_path)
    return made


def test_without_a_gpu(program: Path, tmp_path: Path) -> None:
    """One line says that CUDA is not recorded, and the program ends as untraced."""
    if has_gpu():
        pytest.skip("the machine has a GPU")
    plain = call([program, "1"], tmp_path, check=False)
    done = vtrace(tmp_path, "run", "--devices", "-o", "run", program, "1", check=False)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)
    assert sum("CUDA is not recorded" in line for line in done.stderr.splitlines()) == 1


def test_streams_and_a_graph(program: Path, tmp_path: Path) -> None:
    """Each stream has its activities in their order, each after its call; a graph's kernels have its number."""
    if not has_gpu():
        pytest.skip("the machine has no GPU")
    n = 10
    done = vtrace(tmp_path, "run", "--devices", "-o", "run", program, str(n), check=False)
    assert done.returncode == 3, str(done)
    unify(tmp_path, "run")
    trace = check(tmp_path / "run.trace")
    assert json.loads(trace.properties["VTRACE::COVERAGE"])["complete"]
    found = calls(trace)
    activities = [one for stream in streams(trace) for one in found[stream]]
    assert Counter(seen(activities)) == {
        ("fill", BYTES // 2): 2 * n, ("copy to device", BYTES): 2 * n, ("copy to host", BYTES // 4): 2 * n,
        (SCALE, None): 5 * n,
    }  # fmt: skip
    by_number = {one.values["DEVICE_COMMAND"]: one for one in found[0] if "DEVICE_COMMAND" in one.values}
    assert all(one.begin >= by_number[one.values["DEVICE_COMMAND"]].begin for one in activities)
    launches = [one.values["DEVICE_COMMAND"] for one in found[0] if one.name == "cudaGraphLaunch"]
    numbers = Counter(one.values["DEVICE_COMMAND"] for one in activities)
    assert [numbers[launch] for launch in launches] == [3] * n
    last = max(one.end for one in found[0] if one.name == "cudaDeviceSynchronize")
    assert all(one.end <= last for one in activities)
