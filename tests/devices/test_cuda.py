# SPDX-License-Identifier: BSD-3-Clause
"""CUDA by CUPTI, with a stand-in for CUPTI that plays records of several versions: streams, bytes, losses, and the
ends of programs. No device is needed."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import vtrace as package
from support.build import mpis
from support.build.builder import Builder
from support.build.run import unify, vtrace
from support.oracles.check import check
from support.readers.archive import Trace
from support.readers.devices import calls, one_sided, seen, streams
from support.tools import ROOT, Done, call

VERSIONS = {"libcupti.so.11.8": 18, "libcupti.so.12": 28, "libcupti.so.13": 130500}
"""CUPTI's library -> what cuptiGetVersion tells."""
CODE = 3
"""The program's exit code."""
SCALE = "scale(float*, int)"
ROUND = [("copy to device", 4096), (SCALE, None), ("copy on device", 2048), ("fill", 512), ("copy to host", 1024)]
"""The activities of a round, and their bytes."""


def expected(rounds: int) -> list[tuple[str, int | None]]:
    return [*ROUND] * rounds + [(SCALE, None)]


def fake(build: Builder, library: str = "libcupti.so.12", *flags: str) -> Path:
    """The stand-in for CUPTI, with the name of the library of a version."""
    words = ("-O1", "-fPIC", "-shared", f"-DFAKE_VERSION={VERSIONS[library]}", f"-Wl,-soname,{library}", *flags)
    return build("cupti_fake.c", flags=(*words, "-lpthread"), output=library, plain=True)


def program(
    build: Builder, library: str = "libcupti.so.12", *, compiler: str = "gcc", flags: tuple[str, ...] = ()
) -> Path:
    place = fake(build, library)
    words = ("-O1", *flags, str(place), f"-Wl,-rpath,{place.parent}", "-ldl", "-lpthread")
    return build("cuda_calls.c", compiler=compiler, flags=words, plain=True)


def recorded(
    place: Path, *words: str | Path, code: int = CODE, complete: bool = True, **env: str
) -> tuple[Trace, Done]:
    done = vtrace(place, "run", "--devices", "-o", "run", *words, check=False, env=env)
    assert done.returncode == code, str(done)
    unify(place, "run")
    return check(place / "run.trace", complete=complete), done


@pytest.mark.parametrize("library", VERSIONS)
def test_order(build: Builder, tmp_path: Path, library: str) -> None:
    """The activities of each version's records are on the stream, in order, and each begins after its call. Calls of
    the driver are recorded unless the runtime makes them, and no calls that only tell something."""
    trace, done = recorded(tmp_path, program(build, library), "order", "10")
    assert done.stdout == "done\n"
    (stream,) = streams(trace)
    assert trace.locations[stream].name == "CUDA[0:7]"
    assert trace.locations[stream].group.endswith(": CUDA 0 Imaginary 100")
    found = calls(trace)
    assert seen(found[stream]) == expected(10)
    by_number = {one.values["DEVICE_COMMAND"]: one for one in found[0] if "DEVICE_COMMAND" in one.values}
    assert len(by_number) == 51
    for one in found[stream]:
        assert one.begin >= by_number[one.values["DEVICE_COMMAND"]].begin
        assert one.begin <= one.end
        assert "DEVICE_QUEUED" in one.values
    assert Counter(one.name for one in found[0] if one.name.startswith("cu")) == {
        "cudaMalloc": 1, "cudaMemcpy": 20, "cudaLaunchKernel": 10, "cudaMemcpyAsync": 10, "cudaMemset": 10,
        "cuLaunchKernel": 1, "cudaDeviceSynchronize": 1,
    }  # fmt: skip
    roles = {name: (trace.region(name).role, trace.region(name).paradigm) for name in ("scale", "fill", "cudaMalloc")}
    assert roles == {
        "scale": ("KERNEL", "CUDA"), "fill": ("DATA_TRANSFER", "CUDA"), "cudaMalloc": ("FUNCTION", "CUDA"),
    }  # fmt: skip
    assert trace.creators == {trace.locations[stream].process: trace.locations[0].process}


def test_copies_are_one_sided(build: Builder, tmp_path: Path) -> None:
    """A copy to the device is a Get of the stream from the thread whose call asks for the copy, one to the host a Put,
    one within the device a Get from the stream. Reports count none as MPI's, and the bytes once."""
    trace, _ = recorded(tmp_path, program(build), "threads", "4")
    lanes = streams(trace)
    assert {window.name for window in trace.windows.values()} == {"CUDA_WINDOW"}
    hosts = set()
    for stream in lanes:
        copies = one_sided(trace, stream)
        host = copies[0][1]
        assert copies == [("RmaGet", host, 4096), ("RmaGet", stream, 2048), ("RmaPut", host, 1024)] * 10
        numbers = {one.values["DEVICE_COMMAND"] for one in calls(trace)[stream]}
        assert numbers == {one.values["DEVICE_COMMAND"] for one in calls(trace)[host] if "DEVICE_COMMAND" in one.values}
        hosts.add(host)
    assert len(hosts) == 4
    found = json.loads(vtrace(tmp_path, "summary", "run", "--json", "--ranks", "helpers").stdout)
    assert not found["rma"]
    assert sum(device["bytes"] for device in found["devices"]) == 40 * (4096 + 2048 + 1024 + 512)


def test_a_part(build: Builder, tmp_path: Path) -> None:
    """A part of the archive has the copies that begin there; the end of an earlier one is no event of MPI."""
    whole, _ = recorded(tmp_path, program(build), "order", "4")
    (stream,) = streams(whole)
    copy = [one for one in calls(whole)[stream] if one.name == "copy to host"][1]
    middle = ((copy.begin + copy.end) // 2 - whole.offset) / whole.resolution
    vtrace(tmp_path, "cut", "run", "--from", f"{middle:.9f}s", "-o", "part")
    assert "left out (cut): events of library on 1 location" in vtrace(tmp_path, "summary", "part").stdout
    trace = check(tmp_path / "part.trace", complete=False)
    kinds = ("RmaPut", "RmaGet", "RmaOpCompleteBlocking")
    assert [trace.kinds()[kind] for kind in kinds] == [2, 4, 6]


def test_graphs(build: Builder, tmp_path: Path) -> None:
    """The kernels of a graph have the number of the call that launches it. Those that overlap are on lanes."""
    trace, _ = recorded(tmp_path, program(build), "graph", "4")
    found, lanes = calls(trace), streams(trace)
    assert [*lanes.values()] == ["CUDA[0:13]", "CUDA[0:13] lane 2"]
    per_call = Counter(one.values["DEVICE_COMMAND"] for lane in lanes for one in found[lane])
    launches = [one.values["DEVICE_COMMAND"] for one in found[0] if one.name == "cudaGraphLaunch"]
    assert per_call == dict.fromkeys(launches, 6)
    assert Counter(name for lane in lanes for name, _ in seen(found[lane])) == {
        SCALE: 12, "twice": 8, "copy on host": 4,
    }  # fmt: skip
    for lane in lanes:
        assert all(one.end <= other.begin for one, other in zip(found[lane], found[lane][1:], strict=False))


@pytest.mark.parametrize("library", VERSIONS)
def test_unified_memory(build: Builder, tmp_path: Path, library: str) -> None:
    """Pages that migrate, with bytes, are activities of the device; faults are counters. Both are recorded from the
    first allocation of such memory on."""
    trace, _ = recorded(tmp_path, program(build, library), "unified", "10")
    found, lanes = calls(trace), {name: stream for stream, name in streams(trace).items()}
    to_device, to_host, between = (f"migrate {where}" for where in ("to device", "to host", "between devices"))
    assert seen(found[lanes["CUDA[0:unified memory]"]]) == [(to_device, 65536), (to_host, 4096)] * 10
    assert seen(found[lanes["CUDA[1:unified memory]"]]) == [(between, 8192)] * 10
    assert seen(found[lanes["CUDA[0:7]"]]) == [(SCALE, None)] * 11
    table = json.loads(vtrace(tmp_path, "summary", "run", "--json", "--ranks", "helpers").stdout)
    counters = {row["counter"]: row["total"] for row in table["counters"] if "page faults" in row["counter"]}
    assert counters == {"GPU page faults": 50, "CPU page faults": 10}
    assert {row["device"].rpartition(": ")[2]: row["bytes"] for row in table["devices"]} == {
        "CUDA 0 Imaginary 100": 10 * (65536 + 4096), "CUDA 1 Imaginary 100": 10 * 8192,
    }  # fmt: skip


@pytest.mark.parametrize("env", [{"FAKE_NO_UNIFIED": "yes"}, {"FAKE_NO_KIND": "25"}])
def test_unified_memory_that_cupti_refuses(build: Builder, tmp_path: Path, env: dict[str, str]) -> None:
    """Told in one line, and only to programs that use such memory."""
    trace, done = recorded(tmp_path, program(build), "unified", "2", complete=False, **env)
    assert done.stderr.count("vtrace: CUPTI does not record unified memory of CUDA: CUPTI_ERROR_FAKE\n") == 1
    assert [*streams(trace).values()] == ["CUDA[0:7]"]
    without = vtrace(tmp_path, "run", "--devices", "-o", "other", program(build), "order", "2", check=False, env=env)
    assert "unified memory" not in without.stderr


def test_devices(build: Builder, tmp_path: Path) -> None:
    """Devices of the same name are apart."""
    trace, _ = recorded(tmp_path, program(build), "peers", "3")
    found = {name: seen(calls(trace)[stream]) for stream, name in streams(trace).items()}
    assert found == {"CUDA[0:7]": [("copy between devices", 1 << 20)] * 3, "CUDA[1:8]": [(SCALE, None)] * 3}
    assert {trace.locations[stream].group.partition(": ")[2] for stream in streams(trace)} == {
        "CUDA 0 Imaginary 100", "CUDA 1 Imaginary 100",
    }  # fmt: skip


def test_threads(build: Builder, tmp_path: Path) -> None:
    """Threads with a stream each. CUPTI's own thread is no thread of the program."""
    trace, _ = recorded(tmp_path, program(build), "threads", "4")
    found = calls(trace)
    assert {name: seen(found[stream]) for stream, name in streams(trace).items()} == {
        f"CUDA[0:{20 + n}]": [*ROUND] * 10 for n in range(4)
    }
    assert "on 5 locations (without 4 device streams" in vtrace(tmp_path, "summary", "run").stdout


@pytest.mark.parametrize("how", ["many", "thread"])
def test_many(build: Builder, tmp_path: Path, how: str) -> None:
    """More records than a buffer holds: those of full buffers are recorded at the end, or by CUPTI's own thread, which
    is no thread of the program."""
    trace, _ = recorded(tmp_path, program(build), how, "60000")
    assert sum(len(calls(trace)[stream]) for stream in streams(trace)) == 60000
    assert "on 1 location (without 1 device stream" in " ".join(vtrace(tmp_path, "summary", "run").stdout.split())


def test_more_streams_than_places(build: Builder, tmp_path: Path) -> None:
    trace, _ = recorded(tmp_path, program(build), "streams", "300")
    names = [*streams(trace).values()]
    assert len([name for name in names if "others" not in name]) == 256
    assert "CUDA[0:others]" in names
    assert sum(len(calls(trace)[stream]) for stream in streams(trace)) == 300


def test_filter(build: Builder, tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("*scale* -- 0\ncudaMalloc -- 0\n")
    trace, _ = recorded(tmp_path, program(build), "order", "2", VT_FILTER_SPEC=str(tmp_path / "rules"))
    (stream,) = streams(trace)
    assert seen(calls(trace)[stream]) == [pair for pair in expected(2) if pair[0] != SCALE]
    names = Counter(one.name for one in calls(trace)[0])
    assert (names["cudaLaunchKernel"], names["cudaMalloc"]) == (2, 0)


@pytest.mark.parametrize(
    ("how", "found", "told"),
    [
        ("unfinished", 1, "activities of CUDA without times, such as unfinished ones: 1"),
        ("hold", 64 * 10 - 4, "CUPTI dropped activities of CUDA, for lack of buffers: 1364"),
        ("taken", None, "CUPTI did not return 1 of vtrace's buffers: another tool, such as PyTorch's profiler"),
    ],
)
def test_losses(build: Builder, tmp_path: Path, how: str, found: int | None, told: str) -> None:
    """Activities that are lost are told in one line, and in the ledger."""
    trace, done = recorded(tmp_path, program(build), how, "2000" if how == "hold" else "2", complete=False)
    assert done.stderr.count(told) == 1
    coverage = json.loads(trace.properties["VTRACE::COVERAGE"])
    assert not coverage["complete"]
    assert coverage["shortfalls"][0].startswith(told) or told in coverage["shortfalls"][0]
    if found:
        assert sum(len(calls(trace)[stream]) for stream in streams(trace)) == found


@pytest.mark.parametrize(
    ("env", "told", "found"),
    [
        ({"FAKE_NO_KIND": "10"}, "CUDA is not recorded: CUPTI_ERROR_FAKE", []),
        (
            {"FAKE_NO_KIND": "2"},
            "CUPTI does not record some activities of CUDA: CUPTI_ERROR_FAKE",
            [one for one in expected(2) if one[0] != "fill"],
        ),
        ({"FAKE_NO_TIME": "yes"}, "activities of CUDA without times, such as unfinished ones: 11", []),
    ],
)
def test_errors_of_cupti(
    build: Builder, tmp_path: Path, env: dict[str, str], told: str, found: list[tuple[str, int | None]]
) -> None:
    """What CUPTI refuses is told in one line; the rest is recorded."""
    trace, done = recorded(tmp_path, program(build), "order", "2", complete=False, **env)
    assert done.stdout == "done\n"
    assert done.stderr.count(f"vtrace: {told}\n") == 1
    assert [one for stream in streams(trace) for one in seen(calls(trace)[stream])] == found
    assert not json.loads(trace.properties["VTRACE::COVERAGE"])["complete"]


def test_a_cut_record(build: Builder, tmp_path: Path) -> None:
    """A record that the buffer does not have to its end is left out, and nothing after it is lost."""
    trace, _ = recorded(tmp_path, program(build), "cut", "3")
    (stream,) = streams(trace)
    assert seen(calls(trace)[stream]) == expected(3) * 2


@pytest.mark.parametrize(("how", "code"), [("kill", -9), ("abort", -6)])
def test_sudden_ends(build: Builder, tmp_path: Path, how: str, code: int) -> None:
    """Calls that wait write what is finished, at most once a second: the activities before are in the archive."""
    trace, _ = recorded(tmp_path, program(build), how, "5", code=code, complete=False)
    (stream,) = streams(trace)
    found = seen(calls(trace)[stream])
    both = expected(5) * 2
    assert found == both[: len(found)]
    assert len(found) > len(expected(5))
    assert "process died" in vtrace(tmp_path, "summary", "run").stdout


def test_a_reset(build: Builder, tmp_path: Path) -> None:
    """A call that ends the use of a device writes all before."""
    trace, _ = recorded(tmp_path, program(build), "reset", "5", code=-9, complete=False)
    (stream,) = streams(trace)
    assert seen(calls(trace)[stream]) == expected(5)


def test_quick_exit(build: Builder, tmp_path: Path) -> None:
    trace, _ = recorded(tmp_path, program(build), "quick", "5")
    (stream,) = streams(trace)
    assert seen(calls(trace)[stream]) == expected(5)


def test_fork(build: Builder, tmp_path: Path) -> None:
    """The child, which cannot use CUDA, does not disturb the parent's recording."""
    trace, done = recorded(tmp_path, program(build), "fork", "3")
    assert done.stdout == "done\n" * 2
    (stream,) = streams(trace)
    assert seen(calls(trace)[stream]) == expected(3)


def test_off(build: Builder, tmp_path: Path) -> None:
    """Without --devices nothing of CUDA is recorded. A tool of the user stays, told in one line."""
    shown = ("sh", "-c", "echo $CUDA_INJECTION64_PATH")
    assert vtrace(tmp_path, "run", "--no-unify", *shown).stdout == "\n"
    assert vtrace(tmp_path, "run", "--no-unify", "--devices", *shown).stdout.endswith("/libvtrace-cuda.so\n")
    kept = vtrace(tmp_path, "run", "--no-unify", "--devices", *shown, env={"CUDA_INJECTION64_PATH": "/nsys.so"})
    assert kept.stdout == "/nsys.so\n"
    assert kept.stderr.count("CUDA_INJECTION64_PATH=/nsys.so: the program keeps this tool") == 1
    done = vtrace(tmp_path, "run", "-o", "run", program(build), "order", "1", check=False)
    assert (done.returncode, done.stdout) == (CODE, "done\n")
    assert not [*tmp_path.glob("run.*")]


@pytest.mark.parametrize(
    ("error", "why"),
    [(39, "another tool uses CUPTI, and keeps it"), (15, "CUPTI_ERROR_FAKE"), (999, "CUPTI_ERROR_FAKE")],
)
def test_no_place_for_the_tool(build: Builder, tmp_path: Path, error: int, why: str) -> None:
    """Another tool that uses CUPTI stays; without a driver CUPTI gives errors. The program runs on."""
    trace, done = recorded(tmp_path, program(build), "order", "2", complete=False, FAKE_ERROR=str(error))
    assert done.stdout == "done\n"
    assert done.stderr.count(f"vtrace: CUDA is not recorded: {why}\n") == 1
    assert not streams(trace)


@pytest.mark.parametrize("library", [None, *VERSIONS])
def test_finding_cupti(build: Builder, tmp_path: Path, library: str | None) -> None:
    """CUPTI is found where Python's packages have it: beside the runtime library, of its version. Without one the
    program runs on."""
    runtime = tmp_path / "nvidia" / "cuda_runtime" / "lib"
    runtime.mkdir(parents=True)
    major = library.removeprefix("libcupti.so.")[:2] if library else "10"
    loads = build("cuda_loads.c", flags=("-O1", "-ldl"), plain=True)
    call(["gcc", "-shared", "-o", runtime / f"libcudart.so.{major}", "-x", "c", "/dev/null"], tmp_path)
    beside = tmp_path / "nvidia" / "cuda_cupti" / "lib"
    beside.mkdir(parents=True)
    for other in VERSIONS if library else ():
        (beside / other).symlink_to(fake(build, other))
    env = {"CUDA_HOME": "", "CUDA_PATH": "", "CUDA_ROOT": "", "FAKE_ERROR": "39"}
    found = vtrace(
        tmp_path, "run", "--devices", "-o", "run", loads, runtime / f"libcudart.so.{major}", env=env, check=False
    )
    assert found.returncode == CODE
    if library:
        assert found.stdout == f"{Path(fake(build, library)).name}\n"
    else:
        assert re.search(r"^vtrace: CUDA is not recorded: \S+", found.stderr, re.MULTILINE)


def test_two_ranks(build: Builder, tmp_path: Path) -> None:
    """Kernels that take three times as long on one rank's device."""
    mpi = mpis.find("mpich-wheel", build)
    made = program(build, compiler=str(mpi.mpicc), flags=("-DWITH_MPI",))
    trace, _ = recorded(tmp_path, *mpi.launch, "-n", "2", made, "slower", "10", **dict(mpi.env))
    lanes = streams(trace)
    assert [seen(calls(trace)[stream]) for stream in lanes] == [[(SCALE, None)] * 10] * 2
    assert [trace.locations[stream].group.partition(": ")[0] for stream in lanes] == ["MPI Rank 0", "MPI Rank 1"]
    told = json.loads(vtrace(tmp_path, "diagnose", "run", "--json").stdout)["findings"]
    (slow,) = [finding for finding in told if finding["kind"] == "slow_device"]
    assert slow["culprit"] == "MPI Rank 1"
    assert slow["loss_ns"] == pytest.approx(10 * 4_000_000, rel=0.01)


def test_tables_and_findings(build: Builder, tmp_path: Path) -> None:
    recorded(tmp_path, program(build), "alone", "30")
    found = json.loads(vtrace(tmp_path, "summary", "run", "--json").stdout)
    (device,) = found["devices"]
    assert (device["kernels"], device["copies"], device["bytes"]) == (30, 30, 30 << 20)
    assert device["overlap_ns"] == 0
    assert {row["activity"]: (row["calls"], row["bytes"]) for row in found["kernels"]} == {
        SCALE: (30, 0), "copy to device": (30, 30 << 20),
    }  # fmt: skip
    told = json.loads(vtrace(tmp_path, "diagnose", "run", "--json").stdout)["findings"]
    by_kind = {finding["kind"]: finding for finding in told}
    assert by_kind["copies_alone"]["loss_ns"] == pytest.approx(30 * 2_000_000, rel=0.01)
    assert by_kind["copies_alone"]["region"] == "cudaMemcpy"
    assert "device_wait" in by_kind
    picture = vtrace(tmp_path, "view", "run", "--save", "run.html")
    assert picture.returncode == 0
    assert "CUDA[0:7]" in (tmp_path / "run.html").read_text()


def test_anonymised(build: Builder, tmp_path: Path) -> None:
    """Names of the interface and of streams are public, those of kernels are not."""
    recorded(tmp_path, program(build), "order", "1")
    vtrace(tmp_path, "anonymise", "run", "-o", "shared")
    found = json.loads(vtrace(tmp_path, "summary", "shared", "--json", "--ranks", "helpers").stdout)
    names = {row["activity"] for row in found["kernels"]}
    assert names == {"copy to device", "function_1", "copy on device", "fill", "copy to host"}
    assert "CUDA[0:7]" in {row["thread"] for row in found["classes"]}
    assert package.open(tmp_path / "shared").windows["name"].tolist() == ["CUDA_WINDOW"]


def test_sanitized(build: Builder, tmp_path: Path) -> None:
    """The reader of records, with a cut one, under the address and undefined behaviour sanitizers."""
    place = fake(build)
    parts = ("core", "funwrap", "userwrap", "threadwrap", "procwrap", "sampling", "providers", "devices", "cudawrap")
    made = build.unit("cuda_records", parts=parts, link=["-rdynamic", str(place), f"-Wl,-rpath,{place.parent}"])
    env = {"CUDA_INJECTION64_PATH": "", "VT_FILE_PREFIX": "run", "VT_UNIFY": "no"}
    for how in ("order", "cut", "hold", "graph", "unfinished", "streams", "peers", "unified"):
        done = subprocess.run([made, how, "20"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (CODE, "done\n"), f"{how}: {done.stderr}"
        assert "runtime error" not in done.stderr
    unify(tmp_path, "run")


@pytest.mark.parametrize("place", [Path("/usr/local/cuda/include")])
def test_layouts(build: Builder, place: Path, tmp_path: Path) -> None:
    """Where CUPTI's headers are installed: the members of records are where vtrace reads them."""
    if not (place / "cupti_activity.h").exists():
        pytest.skip("CUPTI's headers are not installed")
    text = (place / "cupti_activity.h").read_text()
    words = [f'-DCUPTI_PART="{ROOT / "csrc" / "cudawrap" / "cupti.h"}"', "-I", str(place)]
    for macro, kind in {
        "KERNEL": "Kernel", "COPY": "Memcpy", "PEER": "MemcpyPtoP", "SET": "Memset",
        "UNIFIED": "UnifiedMemoryCounter", "DEVICE": "Device",
    }.items():  # fmt: skip
        newest = max(int(number) for number in re.findall(rf"\}} CUpti_Activity{kind}(\d+);", text))
        words.append(f"-D{macro}=CUpti_Activity{kind}{newest}")
    compared = build("cupti_layouts.c", flags=("-O1", "-w", *words), plain=True)
    assert call([compared], tmp_path).stdout == ""
