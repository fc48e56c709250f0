# SPDX-License-Identifier: BSD-3-Clause
"""vtrace counters: files of derived events in PAPI's syntax (manual page PAPI_derived_event_files)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from support.tools import Done, call, command, unavailable
from vtrace.analysis.derived.event_file import read_events
from vtrace.analysis.derived.event_set import EventSet
from vtrace.analysis.derived.pfm_names import PfmNames

EXAMPLE = """\
# The following lines define pmu names that all share the following events
CPU nhm
CPU nhm-ex
# Events which should be defined for either of the above pmu types
PRESET,PAPI_TOT_CYC,NOT_DERIVED,UNHALTED_CORE_CYCLES
PRESET,PAPI_REF_CYC,NOT_DERIVED,UNHALTED_REFERENCE_CYCLES
PRESET,PAPI_SP_OPS,DERIVED_POSTFIX,N0|N1|3|*|+|,FP_COMP_OPS_EXE:SSE_SINGLE_PRECISION,FP_COMP_OPS_EXE:SSE_FP_PACKED,\
NOTE,'Using a postfix formula'
EVENT,USER_SP_OPS,DERIVED_INFIX,N0+(N1*3),FP_COMP_OPS_EXE:SSE_SINGLE_PRECISION,FP_COMP_OPS_EXE:SSE_FP_PACKED,\
NOTE,'Using the same formula in infix format'
EVENT,ALIAS_SP_OPS,NOT_DERIVED,PAPI_SP_OPS,LDESC,'Alias for preset event PAPI_SP_OPS'
# End of event definitions for above pmu names and start of a section for a new pmu name.
CPU snb
"""
"""The example of the manual page."""

TYPES = """\
CPU,one
EVENT,ALIAS,NOT_DERIVED,A
EVENT,CMPD,DERIVED_CMPD,A,B
EVENT,ADD,DERIVED_ADD,A,B,C
EVENT,SUB,DERIVED_SUB,A,B,C
EVENT,PS,DERIVED_PS,PAPI_TOT_CYC,A
EVENT,ADD_PS,DERIVED_ADD_PS,PAPI_TOT_CYC,A,B
EVENT,POSTFIX,DERIVED_POSTFIX,N0|N1|-|N2|/|,A,B,C,SDESC,"short, with a comma",LDESC,'long'
EVENT,INFIX,DERIVED_INFIX,"N0 * #",A
EVENT,MASK,DERIVED_ADD,X:M=1,ADD
CPU two
EVENT ,ALIAS,NOT_DERIVED,B
EVENT,OTHER,NOT_DERIVED,ALIAS
"""


def counters(where: Path, *words: str, check: bool = True) -> Done:
    return call([*command("vtrace"), "counters", *words], where, check=check)


def value(where: Path, name: str, *bases: str) -> str:
    return counters(where, "--file", "f.events", "--eval", name, *bases).stdout


def checked(where: Path, text: str) -> Done:
    (where / "f.events").write_text(text)
    return counters(where, "--file", "f.events", "--check", check=False)


def test_the_three_events_of_the_example_agree(tmp_path: Path) -> None:
    done = checked(tmp_path, EXAMPLE)
    assert (done.returncode, done.stdout) == (0, "")
    bases = "FP_COMP_OPS_EXE:SSE_SINGLE_PRECISION=1000", "FP_COMP_OPS_EXE:SSE_FP_PACKED=7"
    for name in ("PAPI_SP_OPS", "USER_SP_OPS", "ALIAS_SP_OPS"):
        assert value(tmp_path, name, *bases) == "1021\n"
    expanded = counters(tmp_path, "--file", "f.events", "--expand", "ALIAS_SP_OPS", "--cpu", "nhm-ex").stdout
    assert expanded.split() == [base.partition("=")[0] for base in bases]
    listed = json.loads(counters(tmp_path, "--file", "f.events", "--json").stdout)
    assert [row["name"] for row in listed][-1] == "ALIAS_SP_OPS"
    assert {tuple(row["pmus"]) for row in listed} == {("nhm", "nhm-ex")}


@pytest.mark.parametrize(
    ("name", "bases", "expected"),
    [
        ("ALIAS", ["A=12"], "12"),
        ("ALIAS", ["B=5", "--cpu", "two"], "5"),
        ("OTHER", ["B=5"], "5"),  # the first section that defines OTHER is that of PMU two
        ("CMPD", ["A=12"], "12"),  # one value, as the kernel returns it
        ("ADD", ["A=9007199254740993", "B=1", "C=1"], "9007199254740995"),  # exact above 2^53
        ("SUB", ["A=10", "B=3", "C=9"], "-2"),
        ("PS", ["PAPI_TOT_CYC=7", "A=25", "cpu_max_mhz=3"], "10714285"),  # 25 * 3 * 10^6 / 7 = 10714285.71
        ("PS", ["PAPI_TOT_CYC=7", "A=25", "cpu_max_mhz=3.9"], "10714285"),  # PAPI's clock rate is an integer
        ("ADD_PS", ["PAPI_TOT_CYC=1000", "A=1", "B=2", "cpu_max_mhz=2400"], "7200000"),
        ("POSTFIX", ["A=10", "B=4", "C=4"], "1.5"),
        ("INFIX", ["A=2", "cpu_max_mhz=2400"], "4800000000"),
        ("MASK", ["X:M=1=40", "A=1", "B=1", "C=1"], "43"),  # split at the last =; ADD is an event of the file
        ("MASK", ["X:M=1=40", "ADD=2"], "42"),  # a given base needs no formula
    ],
)
def test_each_type_has_the_value_of_the_manual_page(name: str, bases: list[str], expected: str, tmp_path: Path) -> None:
    (tmp_path / "f.events").write_text(TYPES)
    assert value(tmp_path, name, *bases) == f"{expected}\n"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--eval", "ADD", "A=1"], 1, "ADD: no value of B, C"),
        (["--eval", "PS", "PAPI_TOT_CYC=1", "A=1"], 1, "PS: no value of cpu_max_mhz"),
        (["--eval", "POSTFIX", "A=1", "B=1", "C=0"], 1, "POSTFIX: division by zero"),
        (["--eval", "POSTFX", "A=1"], 1, "no event POSTFX (did you mean POSTFIX?)"),
        (["--eval", "PS", "--cpu", "two", "A=1"], 1, "no event PS for two (PMUs with this event: one)"),
        (["--eval", "PS", "--cpu", "tow", "A=1"], 1, "no CPU line names tow (did you mean two"),
        (["--eval", "ALIAS", "A"], 2, "A is not BASE=VALUE"),
        (["--eval", "ALIAS", "A=x"], 2, "A=x: x is not a number"),
        (["--eval", "ALIAS", "A=nan"], 2, "nan is not a number"),
        (["--check", "--eval", "ALIAS"], 2, "exclude each other"),
        (["A=1"], 2, "unexpected argument A=1"),
    ],
)
def test_wrong_calls_give_one_line(words: list[str], code: int, message: str, tmp_path: Path) -> None:
    (tmp_path / "f.events").write_text(TYPES)
    done = counters(tmp_path, "--file", "f.events", *words, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, "", 1)
    assert message in done.stderr


def test_errors_have_file_line_and_column(tmp_path: Path) -> None:
    text = """\
CPU skl
EVENT,A,NOT_DERIVED,B
EVENT,B,DERIVED_ADD,INST_RETIRED,A
EVENT,C,DERIVED_POSTFIX,N0|N1|+|,X
EVENT,D,DERIVED_INFIX,N0+(N0*3,X
EVENT,E,DERIVED_FOO,X
  EVENT,E
EVENT,F,NOT_DERIVED,PAPI_FOO
EVENT,G,NOT_DERIVED,INST_RETIRED
EVENT,G,NOT_DERIVED,INST_RETIRED
EVENT,H,DERIVED_PS,X,Y
EVENT,I,NOT_DERIVED,X,NOTE,'abc
EVENTS,J,NOT_DERIVED,X
EVENT,K,NOT_DERIVED,X,NOTE,"a" b
EVENT,L,NOT_DERIVED,X,NOTE
EVENT,M,NOT_DERIVED,X,Y
CPU
"""
    done = checked(tmp_path, text)
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "f.events:2:21: A is defined by itself: A -> B -> A",
        "f.events:3:34: B is defined by itself: B -> A -> B",
        "f.events:4:28: N1 is not a base event of this line: the last one is N0",
        "f.events:5:26: this ( is not closed",
        "f.events:6:9: unknown derived type DERIVED_FOO: one of NOT_DERIVED, DERIVED_CMPD, DERIVED_ADD, DERIVED_SUB, "
        "DERIVED_PS, DERIVED_ADD_PS, DERIVED_POSTFIX, DERIVED_INFIX",
        "f.events:7:10: the derived type is missing",
        "f.events:8:21: unknown base event PAPI_FOO: no event of this file, no preset of PAPI",
        "f.events:10:7: G is already defined in line 9",
        "f.events:11:20: the first base event of DERIVED_PS is PAPI_TOT_CYC",
        "f.events:12:28: the quote ' is not closed",
        "f.events:13:1: unknown command EVENTS: CPU, PRESET or EVENT",
        "f.events:14:32: text after the closing quote: b",
        "f.events:15:27: the text of NOTE is missing",
        "f.events:16:23: NOT_DERIVED takes 1 base events, not 2",
        "f.events:17:4: CPU without the name of a PMU",
    ]


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "f.events").write_bytes("EVENT,A,NOT_DERIVED,B\nEVENT,Ü".encode("latin-1"))
    done = counters(tmp_path, "--file", "f.events", "--check", check=False)
    assert (done.returncode, done.stdout) == (1, "f.events:2:7: not UTF-8 text\n")


def test_bases_that_this_machine_cannot_verify_are_warnings(tmp_path: Path) -> None:
    done = checked(tmp_path, "CPU,skl\nEVENT,A,NOT_DERIVED,INST_RETIREDD\nEVENT,B,NOT_DERIVED,PAPI_L1_DCM\n")
    assert (done.returncode, done.stdout) == (0, "")
    assert "f.events:3:21: warning: PAPI_L1_DCM is not defined in this file" in done.stderr
    assert "f.events: 2 events, 0 errors, 2 warnings" in done.stderr


def test_events_of_every_pmu(tmp_path: Path) -> None:
    """Before a CPU line an event of any PMU is right; counters of vtrace are right everywhere."""
    try:
        PfmNames()
    except OSError:
        unavailable("libpfm4 is not installed")
    right = "page-faults,ru_utime,net/eth0/rx_bytes,r1a8,RETIRED_OPS,elapsed,L1D_miss"
    wrong = f"EVENT,X,DERIVED_ADD,{right},nonsense\nEVENT,Y,DERIVED_ADD,perf::page-fautls,page-faults\n"
    done = checked(tmp_path, f"{wrong}CPU,skl\nEVENT,Z,DERIVED_ADD,page-faults,elapsed,RETIRED_OPS\n")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines() == [
        "f.events:1:94: warning: libpfm4 knows no event nonsense of any PMU",
        "f.events:2:21: warning: libpfm4 knows no event perf::page-fautls of perf",
        "f.events:4:41: warning: libpfm4 knows no event RETIRED_OPS of skl",
        "f.events: 3 events, 0 errors, 3 warnings",
    ]


def test_the_file_of_the_environment_is_the_default(tmp_path: Path) -> None:
    (tmp_path / "f.events").write_text(TYPES)
    words = [*command("vtrace"), "counters", "--eval", "ALIAS", "A=1"]
    assert call(words, tmp_path, env={"PAPI_USER_EVENTS_FILE": "f.events"}).stdout == "1\n"
    done = call(words, tmp_path, env={"PAPI_USER_EVENTS_FILE": ""}, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize("data", [b"\xff\xfe", b"CPU,\x1b[31mred\nEVENT,\x07,NOT,A\n"])
def test_hostile_files_give_printable_lines(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "f.events").write_bytes(data)
    done = counters(tmp_path, "--file", "f.events", "--check", check=False)
    assert done.returncode == 1
    assert (done.stdout + done.stderr).replace("\n", "").isprintable()


def test_paps_own_table_is_read_whole(tmp_path: Path) -> None:
    libraries = sorted(Path("/usr/lib").glob("*/libpapi.so.*.*"))
    if not libraries:
        unavailable("libpapi7.0 is not installed")
    data = libraries[0].read_bytes()
    begin = data.rindex(b"\0", 0, data.index(b"PRESET,PAPI_")) + 1
    (tmp_path / "f.events").write_bytes(data[begin : data.index(b"\0", begin)])
    done = counters(tmp_path, "--file", "f.events", "--check", check=False)
    assert (done.returncode, done.stdout) == (0, ""), done
    file = read_events(tmp_path / "f.events")
    lines = (tmp_path / "f.events").read_text().splitlines()
    replaced = sum("is already defined" in problem.text for problem in file.problems)
    events = sum(len(section.events) for section in file.sections)
    assert 0 <= sum(line.lstrip().startswith("PRESET") for line in lines) - events <= replaced
    assert value(tmp_path, "PAPI_L1_TCM", "INSTRUCTION_CACHE_MISSES=3", "DATA_CACHE_MISSES=4") == "7\n"


def test_columns_have_the_values_of_numbers(tmp_path: Path) -> None:
    (tmp_path / "f.events").write_text(TYPES)
    events = EventSet([read_events(tmp_path / "f.events")], "one")
    random = np.random.default_rng(1)
    columns = {base: random.integers(1, 1 << 40, 1000) for base in ("A", "B", "C", "PAPI_TOT_CYC")}
    for name in ("ALIAS", "ADD", "SUB", "PS", "ADD_PS", "POSTFIX"):
        found = events.value(name, {**columns, "cpu_max_mhz": 2400}).tolist()
        rows = [
            dict(zip(columns, row, strict=True)) for row in zip(*(c.tolist() for c in columns.values()), strict=True)
        ]
        expected = [events.value(name, {**row, "cpu_max_mhz": 2400}) for row in rows]
        assert found == pytest.approx(expected, rel=1e-15), name
