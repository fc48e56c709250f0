# SPDX-License-Identifier: BSD-3-Clause
"""VT_METRICS_REPLAY: recorded values in place of counters, whose increases are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.build.builder import Builder
from support.build.run import run, unify, vtrace
from support.oracles.check import check
from support.oracles.user_api import MANUAL
from support.tools import Done

REPLAY = "VT_METRICS_REPLAY"
VALUES = """\
# three rounds of: enter outer, enter inner, leave inner, leave outer
cycles,skl::INST_RETIRED:ANY_P,page-faults
100,1000,0
130,1000,0
150,1004,0
200,1004,0
210,1004,1
210,1004,1
218446744073709551615,1004,1
"""
"""The last value is too large for a counter: a line with it is an error."""


@pytest.fixture(scope="module")
def program(build: Builder) -> Path:
    return build("counter_regions.c", flags=(*MANUAL, "-O1", "-pthread"))


def replayed(program: Path, where: Path, values: str, names: str, mode: str = "plain", **env: str) -> Done:
    (where / "values.csv").write_bytes(values.encode())
    return run(program, where, mode, env={"VT_METRICS": names, "VT_METRICS_SEP": "|", REPLAY: "values.csv"} | env)


def profile(where: Path, *words: str) -> dict[str, dict[str, Any]]:
    unify(where, "counter_regions")
    check(where / "counter_regions.trace")
    rows = json.loads(vtrace(where, "profile", "counter_regions", "--json", *words).stdout)["metrics"]
    return {row[next(iter(row))]: row for row in rows}


def test_values_of_each_reading(program: Path, tmp_path: Path) -> None:
    """Each reading takes the next values; after the last ones nothing increases. Real counters appear beside them."""
    good = VALUES.rsplit("\n", 2)[0]
    done = replayed(program, tmp_path, good, "cycles|skl::INST_RETIRED:ANY_P|ru_minflt|page-faults")
    assert "VT_METRICS" not in done.stderr
    rows = profile(tmp_path, "--metrics", "cycles,skl::INST_RETIRED:ANY_P,page-faults,ru_minflt")
    inner, outer = rows["inner"], rows["outer"]
    assert [inner[name] for name in ("cycles", "skl::INST_RETIRED:ANY_P", "page-faults")] == [20, 4, 0]
    assert [outer[name] for name in ("cycles", "skl::INST_RETIRED:ANY_P", "page-faults")] == [80, 0, 0]
    assert outer["cycles:inclusive"] == 100
    assert rows["(outside)"]["cycles"] == 10
    assert inner["ru_minflt"] >= 150, "a counter without values in the file is the real one"


def test_each_thread_begins_with_the_first_values(program: Path, tmp_path: Path) -> None:
    replayed(program, tmp_path, "cycles\n5\n12\n", "cycles", "threads", VT_METRICS_AT="user")
    assert profile(tmp_path, "--metrics", "cycles")["worker"]["cycles"] == 2 * 7


def test_counters_that_do_not_fit_together(program: Path, tmp_path: Path) -> None:
    values = "# most 2\na,b,c\n\n1,1,1\n3,4,5\n".replace("\n", "\r\n")  # a line may end with CR LF
    done = replayed(program, tmp_path, values, "c|a|b")
    reason = "it does not count together with the others: the file of VT_METRICS_REPLAY allows no more (# most)"
    assert f"VT_METRICS: b is not recorded: {reason}" in done.stderr
    rows = profile(tmp_path, "--metrics", "a,c")
    assert (rows["outer"]["a"] + rows["inner"]["a"], rows["outer"]["c"] + rows["inner"]["c"]) == (2, 4)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (VALUES, "line 9: not one number for each counter"),
        ("cycles,a\n1\n", "line 2: not one number for each counter"),
        ("cycles,a\n1,2,3\n", "line 2: not one number for each counter"),
        ("cycles\n-1\n", "line 2: not one number for each counter"),
        ("cycles,,a\n1,2,3\n", "line 1: a counter has no name"),
        ("# most 0\ncycles\n1\n", "line 1: not # most NUMBER"),
        ("cycles\n", "line 1: no values"),
        ("", "values.csv: no values"),
        ("cycles\n1\r2\n", "line 2: not one number for each counter"),
        (",".join(["x"] * 65) + "\n", "line 1: more than 64 counters"),
    ],
)
def test_wrong_files(program: Path, tmp_path: Path, values: str, says: str) -> None:
    """One line names the place; the program continues."""
    done = replayed(program, tmp_path, values, "cycles")
    (line,) = [line for line in done.stderr.splitlines() if REPLAY in line]
    assert line.endswith("the file is not used")
    assert says in line


def test_no_file(program: Path, tmp_path: Path) -> None:
    done = run(program, tmp_path, env={"VT_METRICS": "cpu", REPLAY: "none.csv"})
    assert f"{REPLAY}: none.csv: no such file: the file is not used" in done.stderr


def test_listed(tmp_path: Path) -> None:
    (tmp_path / "values.csv").write_text("made-up\n1\n")
    found = json.loads(vtrace(tmp_path, "counters", "--json", env={REPLAY: "values.csv"}).stdout)
    assert [row["description"] for row in found if row["name"] == "made-up"] == [f"values of {REPLAY}"]
