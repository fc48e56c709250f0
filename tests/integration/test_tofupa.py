# SPDX-License-Identifier: BSD-3-Clause
"""vtrace compat tofupa: the files of Tofu PA (guide, 5.2.6), with FJ_TOFUPA's variables, and the guide's script on them
(5.2.7)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.build import mpis
from support.build.builder import Builder
from support.build.run import vtrace
from support.synthetic_runs import tofu_run
from support.synthetic_runs.archives import calls, simple
from support.tools import PROGRAMS, call, need

STD = (
    "TxVc0ZeroCreditCount TxVc1ZeroCreditCount TxVc2ZeroCreditCount TxVc3ZeroCreditCount NumSendTLP ByteSendTLP "
    "NumReceiveTLP ByteReceiveTLP"
)
FIRST = f"""\
# NODE_ADDR 0 0 0 0 0 0
# LOGICAL_ADDR 0
# RANK 1
# PORT 2 eth0 ib0
# PA 8 {STD}
0 - - - - 950 1900 2850 3800 - - - - 9500 19000 28500 38000
1 - - - - 60 120 180 240 - - - - 600 1200 1800 2400
7 - - - - 5 10 15 20 - - - - 50 100 150 200
# EOF
"""
CALLS = """\
# NODE_ADDR 1 0 0 0 0 0
# LOGICAL_ADDR 1
# RANK 2
# PORT 2 eth0 ib0
# PA 2 ByteSendTLP ByteReceiveTLP
0:1 5700 11400 57000 114000
1:1 60 120 600 1200
1:2 120 240 1200 2400
# EOF
"""
SCRIPT = r"""#!/bin/sh

cat tofupa.*.txt |
awk '\
BEGIN{
  init=0;
}
/# EOF/{
  next;
}
/# NODE_ADDR/{
  x=$3;
  y=$4;
  z=$5;
  a=$6;
  b=$7;
  c=$8;
  next;
}
/# PORT/{
  n_port = $3;
  for (i = 0; i < n_port; i++)
    namePort[i] = $(i+4);
  next;
}
/# PA/{
  n_pa = $3;
  for (i = 0; i < n_pa; i++)
    namePa[i] = $(i+4);
next;
}
{
if (init == 0) {
    init = 1;
    printf "6d_addr\taxis\trid\titer";
    for (i=0; i<n_pa; i++) {
        printf "\t%s", namePa[i];
    }
    printf "\n";
}

tmp = $1;
split(tmp, arr, ":");
rid = arr[1];
itr = arr[2];
for (i=0; i<n_port; i++){
    printf "%d,%d,%d,%d,%d,%d\t%s\t%d\t%d", x,y,z,a,b,c, namePort[i], rid, itr;
    for (j=0; j<n_pa; j++){
        printf "\t%s", $(i*n_pa + j + 2)
    }
    printf "\n";
}
}'
"""
"""The guide's script, literally. It prints lines with # LOGICAL_ADDR and # RANK as records of region 0, too."""


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tofu_run.write(tmp_path_factory.mktemp("tofu") / "known").parent


def written(archive: Path, where: Path, **settings: str) -> tuple[dict[str, str], str]:
    """The files by name, and stderr."""
    env = {f"FJ_TOFUPA_{name}": value for name, value in settings.items()}
    done = vtrace(where, "compat", "tofupa", "-A", archive, env=env)
    names = done.stdout.split()
    return {name: (where / name).read_text() for name in names}, done.stderr


def test_sums(archive: Path, tmp_path: Path) -> None:
    """A file for each node, of the process that has read the counters."""
    found, said = written(archive, tmp_path)
    assert [*found] == ["tofupa.0.0-0-0-0-0-0.txt", "tofupa.0.1-0-0-0-0-0.txt"]
    assert found["tofupa.0.0-0-0-0-0-0.txt"] == FIRST
    assert "discarded" not in said


def test_calls_and_limits(archive: Path, tmp_path: Path) -> None:
    """FJ_TOFUPA_PA, _DIR, and calls and regions above _MAXITERATION and _MAXREGION."""
    found, said = written(archive, tmp_path, PA="ByteTLP", MAXITERATION="2", MAXREGION="7", DIR="files")
    assert found["files/tofupa.0.1-0-0-0-0-0.txt"] == CALLS
    assert said.count("region 7 is discarded: FJ_TOFUPA_MAXREGION is 7") == 2
    assert said.count("region 1: 1 of 3 calls are discarded: FJ_TOFUPA_MAXITERATION is 2") == 2


def test_script_of_the_guide(archive: Path, tmp_path: Path) -> None:
    written(archive, tmp_path, PA="NumTLP", MAXITERATION="9")
    (tmp_path / "table.sh").write_text(SCRIPT)
    need("awk")
    lines = call(["sh", "table.sh"], tmp_path).stdout.splitlines()
    assert "0,0,0,0,0,0\teth0\t1\t2\t20\t60" in lines
    assert "1,0,0,0,0,0\tib0\t7\t1\t150\t450" in lines
    assert len([line for line in lines if re.match(r"\d,0,0,0,0,0\t(eth0|ib0)\t[017]\t[1-3]\t", line)]) == 2 * 2 * 5


def test_example_of_the_guide(build: Builder, tmp_path: Path) -> None:
    """Two ranks of one node, and the statistics of the loopback interface."""
    mpi = mpis.find("mpich-wheel", build)
    vtrace(tmp_path, "compat", "--install", "tools")
    call([mpi.mpicc, "-Itools/include", PROGRAMS / "sections_tofu.c", "-o", "a.out"], tmp_path)
    counters = ":".join(f"net/lo/{field}" for field in tofu_run.FIELDS)
    env = {"FJ_TOFUPA_LEVEL": "100", "VT_METRICS": counters, "PJM_JOBID": "12"}
    tool = tmp_path / "tools" / "bin" / "tofupa"
    call([tool, "-C", "-d", "out", *mpi.launch, "-n", "2", "./a.out"], tmp_path, env)
    (made,) = (tmp_path / "out").glob("*.txt")
    assert made.name == "tofupa.12.0-0-0-0-0-0.txt"
    lines = made.read_text().splitlines()
    assert lines[3:5] == ["# PORT 1 lo", f"# PA 8 {STD}"]
    assert [re.fullmatch(r"(\d) - - - - \d+ \d+ \d+ \d+", line)[1] for line in lines[5:7]] == ["0", "1"]  # type: ignore[index]
    whole, region = ([int(word) for word in line.split() if word != "-"][1:] for line in lines[5:7])
    assert all(more >= less for more, less in zip(whole, region, strict=True))


def test_archive_without_sections(tmp_path: Path) -> None:
    simple(tmp_path / "plain.trace", {0: calls(3)}, length=20)
    done = vtrace(tmp_path, "compat", "tofupa", "-A", "plain", check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "plain.trace: no sections of Tofu PA in this trace (call fj_tofupa_start" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"plain.trace"}


def test_without_level(archive: Path, tmp_path: Path) -> None:
    done = vtrace(tmp_path, "compat", "tofupa", "-C", need("true"))
    assert "FJ_TOFUPA_LEVEL is -1: no section is measured, and no file is written" in done.stderr
    assert not [*tmp_path.glob("*.txt")]


@pytest.mark.parametrize(
    ("words", "settings", "code", "says"),
    [
        (("-A",), {}, 2, "the archive is missing"),
        (("-A", "none"), {}, 1, "none"),
        (("-C", "true"), {"PA": "Bytes"}, 2, "FJ_TOFUPA_PA=Bytes: unknown"),
        (("-C", "true"), {"MAXREGION": "4097"}, 2, "FJ_TOFUPA_MAXREGION=4097: not a number from 1 to 4096"),
        (("-C", "true"), {"MAXITERATION": "-1"}, 2, "FJ_TOFUPA_MAXITERATION=-1: not a number"),
        (("-C", "true"), {"LEVEL": "all"}, 2, "FJ_TOFUPA_LEVEL=all: not a number"),
    ],
)
def test_errors(tmp_path: Path, words: tuple[str, ...], settings: dict[str, str], code: int, says: str) -> None:
    env = {f"FJ_TOFUPA_{name}": value for name, value in settings.items()}
    done = vtrace(tmp_path, "compat", "tofupa", *words, env=env, check=False)
    assert (done.returncode, done.stdout) == (code, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr
