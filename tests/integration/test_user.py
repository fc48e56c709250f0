# SPDX-License-Identifier: BSD-3-Clause
"""The user API in C and C++: every macro, with and without -DVTRACE, and with and without vtrace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import names, record, run, unify, vtrace
from support.oracles.check import check
from support.oracles.user_api import (
    ALL,
    COUNTS,
    END,
    INCLUDE,
    LOOP,
    MANUAL,
    MARKERS,
    MESSAGES,
    defined,
    pair,
    story,
    words,
)
from support.readers.archive import Trace
from support.tools import PROGRAMS, call, command, need

COMPILERS = [
    ("user.c", "gcc", "-O0"), ("user.c", "clang", "-O2"), ("user.cc", "g++", "-O2"), ("user.cc", "clang++", "-O0"),
]  # fmt: skip
METRICS = [
    ("level", "m", "INT64", "ABSOLUTE_NEXT"), ("rain", "drops", "UINT64", "ABSOLUTE_NEXT"),
    ("wind", "m/s", "DOUBLE", "ABSOLUTE_NEXT"), ("heat", "#", "DOUBLE", "ABSOLUTE_NEXT"),
]  # fmt: skip
GROUPS = {
    "phases": ("REGIONS", ["given"]), "weather": ("METRIC", ["level", "rain"]), "User": ("METRIC", ["wind", "heat"]),
}  # fmt: skip


@pytest.mark.parametrize(("source", "compiler", "level"), COMPILERS)
def test_every_macro(build: Builder, tmp_path: Path, source: str, compiler: str, level: str) -> None:
    program = build(source, compiler=compiler, flags=(*MANUAL, level, "-Wall", "-Wextra", "-Werror"))
    trace = record(program, tmp_path)
    assert story(trace) == ALL
    assert [(m.category, m.text) for m in trace.markers] == MARKERS
    assert json.loads(trace.properties["VTRACE::USER"]) == {"comments": ["on a Monday"]}
    found = defined(trace.path)
    assert (found.metrics, found.groups) == (METRICS, GROUPS)
    loop, given = trace.region("loop"), trace.region("given")
    text = (PROGRAMS / "user.c").read_text().splitlines()
    assert text[loop.line - 1].strip() == 'VT_USER_START("loop");'
    assert loop.file is not None
    assert loop.file.endswith("user.c")
    assert (given.file, given.line, given.paradigm, given.role) == ("given.f", 77, "USER", "FUNCTION")
    shown = call([need("otf2-marker"), trace.path / "traces.otf2"], tmp_path).stdout
    severities = {"bends": "MEDIUM", "breaks": "HIGH", "comment": "NONE", "steps": "LOW"}
    for category, severity in severities.items():
        assert f'Group: "user", Category: "{category}", Severity: {severity}' in shown


@pytest.mark.parametrize(("manual", "active"), [(False, False), (False, True), (True, False), (True, True)])
def test_four_combinations(build: Builder, tmp_path: Path, manual: bool, active: bool) -> None:
    """Instrumentation by the compiler (-vt:inst) and by macros (-DVTRACE), each on and off (guide 4.3.3.2)."""
    flags = [*(MANUAL[:2] if manual else ()), *(["-DVTRACE"] if active else ())]
    program = build("user.c", compiler="clang" if manual else "gcc", flags=flags)
    assert run(program, tmp_path).stdout == ("0\n" if active else "1\n")
    if manual and not active:
        assert names(tmp_path) == set()
        return
    unify(tmp_path, "user")
    trace = check(tmp_path / "user.trace")
    functions = [] if manual else ["counters", "inner", "inner", "main", "messages", "remarks"]
    regions = sorted(["loop", "given", "plain"] * 2 + ["made up", "second"]) if active else []
    assert sorted(trace.calls().elements()) == sorted(functions + [r.split()[-1] for r in regions])
    assert (trace.kinds()["Metric"], trace.kinds()["MpiSend"], len(trace.markers)) == (
        (6, 2, 6) if active else (0, 0, 0)
    )


FAMILIES = {
    "REGION": lambda item: item[0] not in "+-",
    "CONTROL": lambda item: item not in ("OFF", "ON", "BufferFlush"),
    "COUNT": lambda item: "=" not in item,
    "MSG": lambda item: not item.startswith("Mpi"),
    "COMMENT": lambda item: True,
    "MARKER": lambda item: True,
}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_is_switched_off(build: Builder, tmp_path: Path, family: str) -> None:
    program = build("user.c", flags=(*MANUAL, f"-DVTRACE_NO_{family}"))
    trace = record(program, tmp_path)
    unseen = pair("unseen") if family == "CONTROL" else []
    rewound = pair("discarded") if family == "CONTROL" else []
    everything = [*LOOP, *pair("made up"), *pair("second"), "OFF", *unseen, "ON", *COUNTS, *MESSAGES, *END, *rewound]
    assert story(trace) == [item for item in everything if FAMILIES[family](item)]
    marked = {marker.category for marker in trace.markers}
    assert marked == {"COMMENT": {"bends", "breaks", "steps"}, "MARKER": {"comment"}}.get(
        family, {"bends", "breaks", "steps", "comment"}
    )


@pytest.mark.parametrize(("source", "compiler", "level"), COMPILERS)
def test_without_vtrace(build: Builder, tmp_path: Path, source: str, compiler: str, level: str) -> None:
    """A program built with -DVTRACE and without the library, also statically: it runs, and leaves no files."""
    for name, more in (("shared", ()), ("static", ("-static",)), ("fixed", ("-no-pie", "-fno-pie"))):
        program = build(source, compiler=compiler, flags=(INCLUDE, "-DVTRACE", level, *more), output=name, plain=True)
        assert run(program, tmp_path).stdout == "1\n"
    assert names(tmp_path) == set()


def test_the_wrapper_links_statically(build: Builder, tmp_path: Path) -> None:
    program = build("user.c", flags=("-DVTRACE", "-static"), mode="seq")
    assert run(program, tmp_path).stdout == "1\n"
    assert names(tmp_path) == set()


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_unused_macros_leave_no_code(tmp_path: Path, compiler: str) -> None:
    (tmp_path / "with.c").write_text('#include "vt_user.h"\nint f(int x)\n{\nVT_USER_START("a");\nx++;\n'
                                     'VT_COUNT_SIGNED_VAL(VT_COUNT_DEF("n", "#", 1, -1), x);\nVT_USER_END("a");\n'
                                     'VT_MARKER(VT_MARKER_DEF("m", 1), "t");\nVT_OFF();\nreturn x;\n}\n')  # fmt: skip
    (tmp_path / "without.c").write_text("\n\nint f(int x)\n{\n\nx++;\n\n\n\n\nreturn x;\n}\n")
    for source in ("with.c", "without.c"):
        call([need(compiler), INCLUDE, "-O0", "-S", "-fno-ident", source, "-o", f"{source}.s"], tmp_path)
    codes = [(tmp_path / f"{source}.s").read_text().splitlines() for source in ("with.c", "without.c")]
    plain = [[line for line in code if ".file" not in line] for code in codes]
    assert plain[0] == plain[1]


STRICT = r"""#include "vt_user.h"
int f(int x);
int f(int x)
{
    unsigned int c = VT_COUNT_DEF("n", "#", VT_COUNT_TYPE_SIGNED, VT_COUNT_DEFGROUP);
    if (x) { VT_USER_START("a"); } else { VT_USER_END("a"); }
    (void)c;
    VT_COUNT_SIGNED_VAL(c, x);
    VT_MARKER(VT_MARKER_DEF("m", VT_MARKER_TYPE_HINT), "t");
    VT_SEND(VT_COMM_WORLD, 1, 2);
    if (x) { VT_SECTION_START("s", x, 0); } else { VT_SECTION_STOP("s", 1, x); }
    VT_OFF();
    return VT_IS_ON();
}
"""


@pytest.mark.parametrize("words", ["gcc -std=c89", "clang -std=c89", "g++ -std=c++98", "clang++ -std=c++20"])
def test_no_warnings(tmp_path: Path, words: str) -> None:
    compiler, standard = words.split()
    source = tmp_path / ("x.cc" if "++" in compiler else "x.c")
    source.write_text(STRICT)
    flags = "-pedantic -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wundef -Werror".split()
    flags += ["-Wold-style-cast", "-Weffc++"] if "++" in compiler else ["-Wstrict-prototypes"]
    for active in ([], ["-DVTRACE"]):
        call([need(compiler), standard, *flags, *active, INCLUDE, "-c", source, "-o", "x.o"], tmp_path)


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("flags", [("-std=c++98",), ("-std=c++20", "-O2")])
def test_scopes(build: Builder, tmp_path: Path, compiler: str, flags: tuple[str, ...]) -> None:
    trace = record(build("user_tracer.cc", compiler=compiler, flags=(*MANUAL, *flags)), tmp_path)
    turns = ["+named at run time", *pair("turn", 2), "-named at run time"]
    expected = ["+main scope", "+defined", "+throws", "-throws", "-defined", "+second in a scope", *pair("of", 2)]
    assert story(trace) == [*expected, *turns, "-second in a scope", "-main scope"]


def test_starts_and_ends_without_a_partner(build: Builder, tmp_path: Path) -> None:
    """START without END and END without START: vtunify repairs the stack and prints a line for each. Functions of the
    program with names of the API stay separate."""
    run(build("user_pairs.c", flags=("-DVTRACE", "-O0")), tmp_path)
    said = unify(tmp_path, "user_pairs").stderr
    trace = check(tmp_path / "user_pairs.trace")
    inner = words("+begins, +left by return, -left by return, -begins, +a, +b, -b, -a, +open at the end")
    called = words("+VT_Enter, +VT_User_start, -VT_User_start, -VT_Enter, -open at the end")
    assert story(trace) == ["+main", *inner, *called, "-main"]
    assert "3 regions were begun by the user API and not ended (VT_USER_START without VT_USER_END)" in said
    assert "2 regions were ended by the user API and not begun (VT_USER_END without VT_USER_START)" in said
    assert json.loads(trace.properties["VTRACE::USER"]) == {"unended": 3, "unbegun": 2}


def test_ids_that_are_not_defined(build: Builder, tmp_path: Path) -> None:
    """Each kind of id is told once, is in the ledger, and changes no other event."""
    done = run(build("user_ids.c", flags=MANUAL), tmp_path)
    assert done.stdout == "done\n"
    for kind in ("region", "marker", "communicator", "counter", "section"):
        (line,) = [line for line in done.stderr.splitlines() if f"which no {kind} has" in line]
        assert "not recorded" in line
    unify(tmp_path, "user_ids")
    trace = check(tmp_path / "user_ids.trace")
    assert story(trace) == ["+region", *[item for item in story(trace) if item[0] not in "+-"], "-region"]
    assert (trace.kinds()["Metric"], trace.kinds()["MpiSend"], len(trace.markers)) == (1, 1, 1)
    coverage = json.loads(trace.properties["VTRACE::COVERAGE"])
    assert coverage["complete"] is False


def test_objects_compiled_with_vampirtrace(build: Builder, tmp_path: Path) -> None:
    done = run(build("user_abi.c", flags=MANUAL[:2]), tmp_path)
    assert "counter bad is not recorded: VT_COUNT_DEF has no type 99" in done.stderr
    unify(tmp_path, "user_abi")
    trace = check(tmp_path / "user_abi.trace")
    assert story(trace) == ["+all", "+work", "0=42", "-work", "-all"]
    assert defined(trace.path).groups == {"parts": ("REGIONS", ["work"]), "g": ("METRIC", ["n"])}
    assert (trace.region("all").file, trace.region("all").line) == ("all.c", 5)


def test_threads(build: Builder, tmp_path: Path) -> None:
    rounds = 2000
    program = build("user_threads.c", flags=(*MANUAL, "-pthread"))
    run(program, tmp_path, str(rounds), env={"VT_BUFFER_SIZE": "64M"})
    unify(tmp_path, "user_threads")
    trace = check(tmp_path / "user_threads.trace")
    assert [trace.calls(n)["round"] for n in range(4)] == [rounds] * 4
    assert [region.paradigm for region in trace.regions.values()].count("USER") == 1, "all threads must share a region"
    counted = [trace.kinds(n) for n in range(4)]
    assert [(kinds["Metric"], kinds["MpiSend"], kinds["MpiRecv"]) for kinds in counted] == [(rounds,) * 3] * 4
    values = sorted(e.attrs["values"][0] for e in trace.events if e.kind == "Metric")
    assert values == list(range(4 * rounds))
    (ring,) = (comm for comm in trace.comms.values() if comm.name == "ring")
    assert ring.members == (0, 1, 2, 3)
    for location in range(4):
        sent = [e.attrs for e in trace.of(location) if e.kind == "MpiSend"]
        assert len({a["receiver"] for a in sent}) == 1
        assert {a["msg_tag"] % 4 for a in sent} == {sent[0]["msg_length"]}


def test_unmatched_messages_are_reported(build: Builder, tmp_path: Path) -> None:
    (tmp_path / "one.c").write_text('#include "vt_user.h"\nint main(void)\n{\n'
                                    "VT_MSG_SEND(VT_MSG_DEFCOMM, 1, 2);\nVT_MSG_SEND(VT_MSG_DEFCOMM, 2, 3);\n"
                                    "VT_MSG_RECV(VT_MSG_DEFCOMM, 2, 3);\nreturn 0;\n}\n")  # fmt: skip
    call([*command("vtrace-cc"), "-vt:cc", need("gcc"), *MANUAL, "one.c", "-o", "one"], tmp_path)
    run(tmp_path / "one", tmp_path)
    said = unify(tmp_path, "one").stderr
    assert "1 message of the user API has no other end with the same communicator and tag" in said
    trace: Trace = check(tmp_path / "one.trace")
    assert story(trace) == ["MpiSend User messages 0 2 3", "MpiRecv User messages 0 2 3"]


def test_many_names_made_at_run_time(tmp_path: Path) -> None:
    """Names built at run time: each name is one region, and each text one definition."""
    count = 30_001  # odd, so that each name occurs in even and in odd rounds
    (tmp_path / "many.c").write_text('#include <stdio.h>\n#include "vt_user.h"\nint main(void)\n{\nchar name[32];\n'
                                     'unsigned int id = VT_MARKER_DEF("mark", VT_MARKER_TYPE_HINT);\n'
                                     f"for (int i = 0; i < {3 * count}; i++) {{\n"
                                     f'sprintf(name, "n%d", i % {count});\nVT_USER_START(name);\nVT_USER_END(name);\n'
                                     "if (i % 2) VT_MARKER(id, name);\n}\nreturn 0;\n}\n")  # fmt: skip
    call([*command("vtrace-cc"), "-vt:cc", need("gcc"), *MANUAL, "many.c", "-o", "many"], tmp_path)
    run(tmp_path / "many", tmp_path)
    unify(tmp_path, "many")
    shown = call([need("otf2-print"), "--silent", "many.trace/traces.otf2"], tmp_path)
    assert not shown.stderr
    found = json.loads(vtrace(tmp_path, "info", "--json", "many").stdout)
    assert found["events"]["Enter"] == found["events"]["Leave"] == 3 * count
    marked = call([need("otf2-marker"), "many.trace/traces.otf2"], tmp_path).stdout.splitlines()
    texts = {line.rpartition("Text: ")[2] for line in marked if line.startswith("MARKER ")}
    assert (len(marked), len(texts)) == (1 + 3 * count // 2, count)
    definitions = vtrace(tmp_path, "dump", "many", "--no-records", "--only", "TEXT", check=False).stdout
    assert definitions.count("\n") in (0, count), "each text needs one definition (none after vtunify)"
