# SPDX-License-Identifier: BSD-3-Clause
"""vtrace jobs: a row for each file of vtrace run --always, and the change against the run before."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from support.build.run import unify, vtrace
from support.tools import call, command, environment
from vtrace.errors import VtraceError
from vtrace.io.common.names import JOB
from vtrace.io.packed import container
from vtrace.io.packed.container import LOCATION, Index, Plan
from vtrace.io.packed.job_row import read_job
from vtrace.reports.jobs import add_changes

ROW = {
    "start": 1_800_000_000.0, "program": "heat", "command": ["./heat"], "user": "alice", "hosts": ["n1"], "ranks": 4,
    "processes": 4, "wall": 10.0, "efficiency": 0.75, "mpi": 0.2, "io": None, "regions": [["solve", 6.0], ["", 1.0]],
}  # fmt: skip


def write(path: Path, **changes: Any) -> Path:
    """A packed archive with a row only."""
    import numpy as np

    plan = Plan()
    data = changes.pop("data", None) or json.dumps({**ROW, **changes}).encode()
    index = Index({JOB: plan.pack(data)}, [], np.zeros(0, LOCATION), 0, samples=False)
    with path.open("wb") as file:
        container.write(file, index, plan)
    return path


def shown(where: Path, *words: str) -> Any:
    return json.loads(vtrace(where, "jobs", ".", "--json", *words).stdout)["jobs"]


def test_table(tmp_path: Path) -> None:
    write(tmp_path / "a.vtz")
    write(tmp_path / "b.vtz", start=1_800_000_100.0, wall=12.3, regions=[["solve", 7.2], ["", 2.0]], user="bob")
    write(tmp_path / "c.vtz", start=1_800_000_200.0, ranks=8, processes=8, efficiency=None, mpi=None)
    done = vtrace(tmp_path, "jobs", ".", env={"TZ": "UTC"})
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[2] for line in lines[2:5]] == ["heat"] * 3
    assert [line[-1] for line in lines[2:5]] == ["c.vtz", "b.vtz", "a.vtz"]
    assert "+23 % wall: solve +1.2 s" in done.stdout.splitlines()[3]
    assert lines[4][:9] == ["2027-01-15", "08:00:00", "heat", "alice", "4", "10", "s", "75.0", "20.0"]
    assert "next: vtrace summary c.vtz" in done.stdout


def test_choices(tmp_path: Path) -> None:
    write(tmp_path / "a.vtz")
    write(tmp_path / "b.vtz", start=1_800_100_000.0, user="bob", wall=5.0)
    write(tmp_path / "c.vtz", start=1_800_200_000.0, program="sort", ranks=0)
    for words, files in (
        ((), "cba"), (("--user", "bob"), "b"), (("--program", "h*"), "ba"), (("--program", "H*"), ""),
        (("--since", "2027-01-16"), "cb"), (("--since", "999999w"), "cba"),
    ):  # fmt: skip
        assert "".join(row["file"][0] for row in shown(tmp_path, *words)) == files, words
    (row,) = shown(tmp_path, "--user", "bob")
    assert (row["before"], row["wall_change"]) == ("a.vtz", -0.5)


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("nowhere",), 1, "nowhere: no such directory"),
        ((".", "--since", "soon"), 2, "--since soon is not a time"),
        ((".", "--since", "99999999999999w"), 2, "is not a time"),
        (("file",), 1, "file: Not a directory"),
    ],
)
def test_errors(tmp_path: Path, words: tuple[str, ...], code: int, text: str) -> None:
    (tmp_path / "file").touch()
    done = vtrace(tmp_path, "jobs", *words, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, "", 1), str(done)
    assert text in done.stderr


def test_no_jobs(tmp_path: Path) -> None:
    assert vtrace(tmp_path, "jobs", ".").stdout == "no jobs\n"
    env = {name: value for name, value in environment().items() if name != "XDG_STATE_HOME"}
    done = call([*command("vtrace"), "jobs"], tmp_path, {**env, "HOME": str(tmp_path)}, check=False)
    assert done.returncode == 1
    assert ".local/state/vtrace/jobs: no such directory (vtrace run --always PROGRAM makes it)" in done.stderr


@pytest.mark.parametrize(
    "data", [b"{", b"[]", b"{}", b"null", b'"x"', json.dumps({**ROW, "regions": [1]}).encode(), b"[" * 100_000]
)
def test_damaged_rows(tmp_path: Path, data: bytes) -> None:
    write(tmp_path / "a.vtz")
    write(tmp_path / "b.vtz", data=data)
    done = vtrace(tmp_path, "jobs", ".")
    assert (done.stderr.count("\n"), done.stdout.count("vtz")) == (1, 2), str(done)
    assert "b.vtz: the row of the job is damaged" in done.stderr


def test_damaged_files(tmp_path: Path) -> None:
    """Each byte of a file may be wrong, and each part may be missing."""
    data = write(tmp_path / "a.vtz").read_bytes()
    (tmp_path / "b.vtz").write_bytes(b"")
    (tmp_path / "c.vtz").mkdir()
    (tmp_path / "d.vtz").symlink_to("nowhere")
    done = vtrace(tmp_path, "jobs", ".")
    assert (done.stderr.count("left out"), done.stdout.count("heat")) == (3, 1), str(done)
    for at in range(0, len(data), 7):
        changed = bytearray(data)
        changed[at] ^= 0x55
        for damaged in (data[:at], bytes(changed)):
            (tmp_path / "b.vtz").write_bytes(damaged)
            with suppress(VtraceError):
                assert read_job(tmp_path / "b.vtz") == ROW


def test_control_characters(tmp_path: Path) -> None:
    """Names are data."""
    odd = "\x1b[31m<b>\n\x7f\udcff"
    changes = {"program": odd, "user": odd, "hosts": [odd], "command": [odd]}
    write(tmp_path / "a\x1b[2J.vtz", **changes, regions=[[odd, 3.0]])
    write(tmp_path / "b.vtz", **changes, regions=[[odd, 9.0]], start=1_800_000_001.0, wall=1e300)
    write(tmp_path / "c.vtz", start=1e300)
    for words in ((), ("--json",)):
        done = vtrace(tmp_path, "jobs", ".", *words)
        assert all(line.isprintable() for line in (done.stdout + done.stderr).split("\n")), repr(done.stdout)


def test_archives_without_a_row(tmp_path: Path) -> None:
    """Other packed archives are no jobs."""
    call([*command("vtrace"), "run", "--no-sample", "--io", "-o", "x", "cat", "/etc/hostname"], tmp_path)
    unify(tmp_path, "--packed", "x")
    assert vtrace(tmp_path, "jobs", ".").stdout == "no jobs\n"


def test_changes() -> None:
    """The run before is the last one of the program and the number of ranks."""
    rows = [
        {**ROW, "file": "a", "wall": 10.0}, {**ROW, "file": "b", "ranks": 2, "wall": 99.0},
        {**ROW, "file": "c", "wall": None}, {**ROW, "file": "d", "wall": 20.0, "regions": []},
    ]  # fmt: skip
    add_changes(rows)
    assert [row["before"] for row in rows] == [None, None, "a", "c"]
    assert [row["wall_change"] for row in rows] == [None, None, None, None]
    assert (rows[2]["change_region"], rows[3]["change_region"], rows[3]["change_s"]) == (None, "solve", -6.0)
