# SPDX-License-Identifier: BSD-3-Clause
"""Counters from files of the kernel, with a false sysfs, called directly by tests/c/kernel_counters.c under ASan and
UBSan."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.tools import call

THREAD, PROCESS, NODE = 0, 1, 2


@pytest.fixture(scope="module")
def program(build: Builder) -> Path:
    return build.unit("kernel_counters", parts=("core", "funwrap", "sampling", "providers"))


@pytest.fixture
def sysfs(tmp_path: Path) -> Path:
    for name, text in {
        "class/powercap/intel-rapl:0/energy_uj": "18446744073709551615\n",
        "class/net/ib0/statistics/rx_bytes": "12345\n",
        "class/net/ib0/statistics/rx_packets": " 7\n",
        "class/net/ib0/statistics/empty": "",
        "class/net/ib0/statistics/text": "none\n",
    }.items():
        path = tmp_path / "sys" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "sys"


def test_power_and_network(program: Path, sysfs: Path) -> None:
    names = {
        "power/intel-rapl:0": f"uJ a {NODE} {2**64 - 1}",
        "net/ib0/rx_bytes": f"bytes a {NODE} 12345",
        "net/ib0/rx_packets": f"# a {NODE} 7",
        "net/ib0/empty": f"error {errno.EINVAL}",
        "net/ib0/text": f"error {errno.EINVAL}",
        "net/ib1/rx_bytes": "unknown",
        "power/none": "unknown",
    }
    assert call([program, sysfs, *names], sysfs).stdout.splitlines() == [*names.values()]


@pytest.mark.parametrize(
    "name",
    ["net", "net/", "net/ib0", "net/../../etc/passwd", "net/ib0/../x", "power/", "power/a/b", "nets/a/b", "x" * 200],
)
def test_names_that_are_none(program: Path, sysfs: Path, name: str) -> None:
    assert call([program, sysfs, name], sysfs).stdout in ("unknown\n", f"error {errno.ENOENT}\n")


def test_files_and_the_process(program: Path, sysfs: Path) -> None:
    path = sysfs / "temperature"
    path.write_text("\t42 millidegrees")
    names = [str(path), "resident-memory", "huge-pages", "sched-run", "sched-wait", "sched-slices", "cpu", "numa-node"]
    lines = call([program, sysfs, *names], sysfs).stdout.splitlines()
    assert lines[0] == f"# p {PROCESS} 42"
    assert lines[1].startswith(f"pages p {PROCESS} ")
    assert int(lines[1].split()[-1]) > 100
    assert [line.rsplit(" ", 1)[0] for line in lines[3:6]] == [f"ns a {THREAD}", f"ns a {THREAD}", f"# a {THREAD}"]
    assert all(line.startswith(f"# p {THREAD} ") for line in lines[6:])
    assert lines[2].startswith((f"KiB p {PROCESS} ", "error "))


def test_a_path_that_is_no_file(program: Path, sysfs: Path) -> None:
    assert call([program, sysfs, str(sysfs)], sysfs).stdout == f"error {errno.EISDIR}\n"
