# SPDX-License-Identifier: BSD-3-Clause
"""Each situation of the table, in each of its modes: the program behaves as untraced, and its trace is right."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from odd.situations import BOTH, RUN, SAMPLES, SITUATIONS, WRAPPERS, Situation
from support.build.builder import Builder
from support.build.run import unify, vtrace
from support.tools import DEFAULTS, Done, call, need

PROGRAMS = Path(__file__).parent / "programs"
COMPILERS = {".c": "gcc", ".cc": "g++", ".f90": "gfortran"}
"""By suffix, where the table names no compiler."""
SHELL = ("sh", "-c", '"$@"; exit $?', "sh")
"""A shell that starts a command."""
Untraced = Callable[[Situation], Done]


def cases() -> Iterator[ParameterSet]:
    """Each situation in each of its modes. Only the full tests have all modes with samples, but for situations that are
    about samples, and runs with only I/O, only memory or neither."""
    for number, row in enumerate(SITUATIONS):
        sampled = [mode for mode in row.modes if mode in SAMPLES]
        both = {*WRAPPERS} <= {*row.modes}
        for mode in (*row.modes, *[BOTH] * both):
            more = mode in sampled and len(sampled) < len(row.modes) and mode != sampled[number % len(sampled)]
            more |= both and (mode in WRAPPERS or (mode == "run" and not row.processes and mode not in row.calls))
            yield pytest.param(row, mode, id=f"{row.name}-{mode}", marks=pytest.mark.full if more else ())


CASES = [*cases()]


def words_of(build: Builder, row: Situation, traced: bool) -> tuple[str, ...]:
    program = ""
    if row.source:
        path = PROGRAMS / row.source
        flags = ("-O1", "-g", "-pthread", *row.flags)
        program = str(build(path, compiler=row.compiler or COMPILERS[path.suffix], flags=flags, plain=not traced))
    return tuple(word.replace("{program}", program).replace("{here}", str(PROGRAMS)) for word in row.words)


@pytest.fixture(scope="module")
def untraced(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Untraced:
    """A function that runs a situation untraced, once for all of its modes. Skips the test if a tool is missing."""
    runs: dict[str, Done] = {}

    def run(row: Situation) -> Done:
        for tool in row.tools:
            need(tool)
        if row.as_root and os.geteuid() != 0:
            pytest.skip("only root can do this")
        if row.name not in runs:
            runs[row.name] = call(words_of(build, row, False), tmp_path_factory.mktemp("plain"), check=False)
        assert runs[row.name].returncode == row.code, str(runs[row.name])
        return runs[row.name]

    return run


def traced(build: Builder, row: Situation, mode: str, where: Path) -> Done:
    """Records the archive t.trace in the directory where."""
    if mode == "cc":
        return call(words_of(build, row, True), where, {"VT_FILE_PREFIX": "t"} | DEFAULTS, check=False)
    return vtrace(where, "run", "-o", "t", *RUN[mode], *words_of(build, row, False), env=DEFAULTS, check=False)


@pytest.mark.parametrize(("row", "mode"), CASES)
def test_situation(build: Builder, tmp_path: Path, untraced: Untraced, row: Situation, mode: str) -> None:
    plain, done = untraced(row), traced(build, row, mode, tmp_path)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout), str(done)
    if row.told:
        assert row.told in done.stderr, str(done)
    if row.has_archive:
        check_archive(row, mode, tmp_path, said=done.stderr)


@pytest.mark.parametrize(("row", "mode"), [case for case in CASES if case.values[1] in (BOTH, *WRAPPERS)])
def test_situation_behind_a_shell(
    build: Builder, tmp_path: Path, untraced: Untraced, row: Situation, mode: str
) -> None:
    """vtrace run knows only the shell: the program's environment comes from the wrappers of exec."""
    plain, words = untraced(row), [*SHELL, *words_of(build, row, False)]
    done = vtrace(tmp_path, "run", "-o", "t", *RUN[mode], *words, env=DEFAULTS, check=False)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout), str(done)
    if row.has_archive:
        assert unify(tmp_path, "t", check=False).returncode == 0


def check_archive(row: Situation, mode: str, where: Path, said: str) -> None:
    modes = WRAPPERS if mode == BOTH else (mode,)
    wanted = {name: count for each in modes for name, count in row.calls.get(each, {}).items()}
    unified = unify(where, "t", check=False)
    if unified.returncode:  # such as a program without MPI that is run with no options
        assert not wanted, f"no archive: {said}\n{unified}"
        assert row.told or "vtrace: warning: " in said, f"no archive, and no line says why: {said}\n{unified}"
        return
    info = json.loads(vtrace(where, "info", "--json", "t").stdout)
    assert info["complete"] or row.told, info
    if row.processes and mode == "run":
        # Without their programs: of a forked child that executes another program both may have records.
        assert len({location["process"].partition(" (")[0] for location in info["locations"]}) == row.processes
    if wanted:
        table = json.loads(vtrace(where, "summary", "--json", "t").stdout)
        counts = {region["region"]: region["calls"] for region in table["regions"]}
        assert {name: counts.get(name, 0) for name in wanted} == wanted


PLAIN_ROWS = [row for row in SITUATIONS if "run" in row.modes]


@pytest.mark.parametrize("row", PLAIN_ROWS, ids=[row.name for row in PLAIN_ROWS])
def test_situation_always(build: Builder, tmp_path: Path, untraced: Untraced, row: Situation) -> None:
    """With vtrace run --always the program also has the untraced standard error."""
    plain, env = untraced(row), {"VT_ALWAYS_DIR": str(tmp_path / "jobs")}
    done = vtrace(tmp_path, "run", "--always", *words_of(build, row, False), env=env, check=False)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout), str(done)
    assert "vtrace" not in done.stderr, str(done)
