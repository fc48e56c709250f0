# SPDX-License-Identifier: BSD-3-Clause
"""Names of performance events, found by tests/c/event_names.c under ASan and UBSan: PMUs in a directory like that of
sysfs, libpfm4's names, and names similar to an unknown one."""

from __future__ import annotations

import ctypes.util
import random
from pathlib import Path

import pytest

from support import tools
from support.build.builder import Builder
from vtrace.wrappers.launch.counters import settings_of, split_names

FILES = {
    "cpu/type": "4",
    "cpu/format/event": "config:0-7",
    "cpu/format/umask": "config:8-15",
    "cpu/format/inv": "config:23",
    "cpu/format/wide": "config:0-63",
    "cpu/format/split": "config:0-7,32-35",  # AMD's event
    "cpu/format/ldlat": "config1:0-15",
    "cpu/format/threshold": "config2:4-7",
    "cpu/format/new": "config3:0-7",
    "cpu/format/broken": "config:9-3",
    "cpu/format/beyond": "config:60-64",
    "cpu/events/cpu-cycles": "event=0x3c",
    "cpu/events/mem-loads": "event=0xcd,umask=0x1,ldlat=3",
    "cpu/events/mem-loads.scale": "2.0",
    "cpu/events/core-only": "event=0x1,core=?",
    "cpu/events/circle": "circle",
    "uncore_imc_0/type": "18",
    "uncore_imc_0/format/event": "config:0-7",
    "uncore_imc_0/events/cas.reads": "event=0x04",
    "uncore_imc_0/events/cas.reads.unit": "MiB",
    "empty/type": "",
    "large/type": "99999999999",
}


@pytest.fixture(scope="module", params=["gcc", pytest.param("clang", marks=pytest.mark.full)])
def event_names(request: pytest.FixtureRequest, build: Builder) -> Path:
    return build.unit("event_names", request.param, ("core", "funwrap", "providers"))


@pytest.fixture
def pmus(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "devices" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return tmp_path / "devices"


def lines(program: Path, where: Path, *words: str | Path) -> list[str]:
    env = {"ASAN_OPTIONS": "detect_leaks=0"}  # libpfm4 keeps its tables
    return tools.call([program, *words], where, env).stdout.splitlines()


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("cpu/event=0x3c,umask=0x1/", "4 0x13c 0x0 0x0"),
        ("cpu/event=60,umask=1/", "4 0x13c 0x0 0x0"),
        ("cpu/cpu-cycles/", "4 0x3c 0x0 0x0"),
        ("cpu/cpu-cycles,inv/", "4 0x80003c 0x0 0x0"),
        ("cpu/mem-loads/", "4 0x1cd 0x3 0x0"),
        ("cpu/mem-loads,ldlat=0x1e/", "4 0x1cd 0x1e 0x0"),
        ("cpu/inv=0,threshold=0xf/", "4 0x0 0x0 0xf0"),
        ("cpu/wide=0xffffffffffffffff/", "4 0xffffffffffffffff 0x0 0x0"),
        ("cpu/split=0xabc/", "4 0xa000000bc 0x0 0x0"),
        ("cpu/config=0x12,config1=3,config2=4/", "4 0x12 0x3 0x4"),
        ("uncore_imc_0/cas.reads/", "18 0x4 0x0 0x0"),
        *(
            (name, "unknown")
            for name in (
                "cpu/event=0x100/", "cpu/split=0x1abc/", "cpu/inv=2/", "cpu/threshold=16/",  # too many bits
                "cpu/wide=0x10000000000000000/", "cpu/wide=18446744073709551616/",
                "cpu/event=/", "cpu/event=0x/", "cpu/event=3c/", "cpu/event=-1/", "cpu/=1/", "cpu/,/", "cpu//",
                "cpu/event=1", "cpu", "cpu/", "/event=1/", "/", "//", "", "gpu/event=1/", "cpu/evnt=1/",
                "cpu/new=1/", "cpu/broken=1/", "cpu/beyond=1/", "cpu/core-only/", "cpu/circle/",
                "../devices/cpu/event=1/", "./event=1/", "cpu/../type/", "cpu/..=1/", "empty/event=1/",
                "large/config=1/",
                f"cpu/{'x' * 300}/", f"{'x' * 300}/event=1/", f"cpu/{'inv,' * 60}inv/x/",
            )
        ),
    ],
)  # fmt: skip
def test_events_of_pmus(event_names: Path, pmus: Path, name: str, found: str) -> None:
    """perf's syntax; the bits are those of the kernel's files."""
    assert lines(event_names, pmus, "pmu", pmus, name) == [f"{name} {found}"]


def test_the_list_of_pmus(event_names: Path, pmus: Path, tmp_path: Path) -> None:
    """Only complete events: no scales and units, and none that needs a term of the user."""
    assert sorted(lines(event_names, pmus, "list", pmus)) == [
        "cpu/cpu-cycles/ event=0x3c",
        "cpu/mem-loads/ event=0xcd,umask=0x1,ldlat=3",
        "uncore_imc_0/cas.reads/ event=0x04",
    ]
    assert lines(event_names, pmus, "list", tmp_path / "nothing") == []


def test_many_events_in_a_directory(event_names: Path, pmus: Path) -> None:
    """The kernel gives a long directory in parts."""
    for i in range(500):
        (pmus / f"cpu/events/event-{i:03}").write_text("event=0x1\n")
    found = {line.split()[0] for line in lines(event_names, pmus, "list", pmus)}
    assert {f"cpu/event-{i:03}/" for i in range(500)} <= found


def test_damaged_files_of_pmus(event_names: Path, pmus: Path) -> None:
    """Any bytes in the files, and any name, give an event or none."""
    rng = random.Random(17)
    pieces = [
        "config",
        ":",
        "-",
        ",",
        "0",
        "63",
        "64",
        "0x",
        "f" * 17,
        "=",
        "?",
        "\n",
        "cpu-cycles",
        "event",
        "\x7f",
        "é",
    ]
    for _ in range(60):
        for name in ("format/event", "format/umask", "events/cpu-cycles", "type"):
            (pmus / "cpu" / name).write_text("".join(rng.choices(pieces, k=rng.randrange(30))))
        names = ["".join(rng.choices(["cpu", "/", *pieces], k=8)) for _ in range(20)]
        wanted = ["cpu/event=1/", "cpu/cpu-cycles/", "cpu/event=0xff,umask=3/", *names]
        lines(event_names, pmus, "pmu", pmus, *wanted)
        lines(event_names, pmus, "list", pmus)


def test_names_of_this_machine(event_names: Path, tmp_path: Path) -> None:
    """The kernel's generic names, raw events and PMUs have the numbers of linux/perf_event.h."""
    wanted = ["page-faults", "cycles", "rc0", "software/config=0x2/", "Page-faults"]
    found = lines(event_names, tmp_path, "find", *wanted)
    if not Path("/sys/bus/event_source/devices/software/type").exists():
        pytest.skip("no PMUs in /sys/bus/event_source/devices")
    assert found[:4] == ["page-faults 1 0x2 0x0 0x0", "cycles 0 0x0 0x0 0x0", "rc0 4 0xc0 0x0 0x0",
                         "software/config=0x2/ 1 0x2 0x0 0x0"]  # fmt: skip


@pytest.mark.skipif(not ctypes.util.find_library("pfm"), reason="libpfm4 is not installed")
def test_names_of_libpfm4(event_names: Path, tmp_path: Path) -> None:
    wanted = ["perf::PAGE-FAULTS", "PERF_COUNT_SW_CPU_MIGRATIONS", "perf::PAGE-FAULTS:u", "perf::PAGE-FAULTS:nothing"]
    assert lines(event_names, tmp_path, "find", *wanted) == [
        "perf::PAGE-FAULTS 1 0x2 0x0 0x0",
        "PERF_COUNT_SW_CPU_MIGRATIONS 1 0x4 0x0 0x0",
        "perf::PAGE-FAULTS:u 1 0x2 0x0 0x0 not-kernel",
        "perf::PAGE-FAULTS:nothing unknown",
    ]
    assert lines(event_names, tmp_path, "near", "perf::PAGE-FALTS") == ["1 perf::PAGE-FAULTS"]
    assert lines(event_names, tmp_path, "near", "PERF_COUNT_SW_CPU_MIGRATION") == ["1 PERF_COUNT_SW_CPU_MIGRATIONS"]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("page-fault", "1 page-faults"),
        ("instrutcions", "1 instructions"),
        ("cache-mises", "1 cache-misses"),
        ("m1nor-faults", "1 minor-faults"),
        ("r", "0 "),
        ("", "0 "),
        ("something-else", "0 "),
        ("x" * 1000, "0 "),
    ],
)
def test_near_names(event_names: Path, tmp_path: Path, name: str, near: str) -> None:
    assert lines(event_names, tmp_path, "near", name) == [near]


@pytest.mark.parametrize(
    "names",
    [
        ["net/lo/tx_bytes", "net/lo/rx_bytes", "cycles"], ["/sys/a", "/sys/b"],
        ["cpu/event=0x3c,umask=0x1/", "power/intel-rapl:0", "task-clock"],
    ],
)  # fmt: skip
def test_lists_of_names(names: list[str]) -> None:
    """Commas inside the terms of a PMU belong to the name, commas after paths do not."""
    assert split_names(",".join(names)) == names
    settings = settings_of(names)
    assert settings["VT_METRICS"].split(settings["VT_METRICS_SEP"]) == names
