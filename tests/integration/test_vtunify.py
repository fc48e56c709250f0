# SPDX-License-Identifier: BSD-3-Clause
"""The options of vtunify as in the guide (Table 4.6); the result depends only on the input."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import names, run, unify, vtrace
from support.oracles.check import check

LOCAL = {"many.1.def.z", "many.1.events.z", "many.uctl"}


@pytest.fixture
def local(build: Builder, tmp_path: Path) -> Path:
    """A directory with the files of one run."""
    run(build("many.c"), tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ("many", "-o", "out"),
        ("-o", "out", "many"),
        ("many", "-oout"),
        ("./many", "-o", "out", "--nocompress"),
        ("-p", "-o", "out", "many"),
        ("--progress", "many", "-o", "out"),
        ("-j", "1", "many", "-o", "out"),
        ("-q", "-v", "-o", "out", "-p", "--nocompress", "-j2", "many"),
    ],
)
def test_orders_and_options(local: Path, words: tuple[str, ...]) -> None:
    unify(local, *words)
    assert names(local) == {"out.trace"}
    assert check(local / "out.trace").calls() == {"main": 1, "work": 10}


def test_quiet_and_verbose(local: Path) -> None:
    """-q and -v override VT_VERBOSE, and the last one of them counts."""
    said = {}
    for words, level in [("", "1"), ("-q", "2"), ("-v", "0"), ("-v -q", "1"), ("-q -v", "1"), ("", "0"), ("", "2")]:
        options = [*words.split(), "-k", "-o", f"out{len(said)}"]
        done = unify(local, "many", *options, env={"VT_VERBOSE": level})
        said[(words, level)] = len(done.stderr.splitlines())
    quiet = (("", "1"), ("-q", "2"), ("-v -q", "1"), ("", "0"))
    assert all(said[case] == 0 for case in quiet), said
    assert all(said[case] > 0 for case in said if case not in quiet), said


def test_next_command_works(local: Path) -> None:
    done = unify(local, "many")
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("next: vtrace "))
    commands = line.removeprefix("next: ").split(", ")
    assert [command.split()[1] for command in commands] == ["summary", "view"]
    assert "many" in vtrace(local, *commands[0].split()[1:]).stdout


@pytest.mark.parametrize("option", ["-h", "--help", "-V", "--version"])
def test_help_and_version(tmp_path: Path, option: str) -> None:
    done = unify(tmp_path, option)
    assert done.stdout
    assert done.stderr == ""
    assert ("--keeplocal" in done.stdout) == (option in ("-h", "--help"))


def test_no_option_c(local: Path) -> None:
    done = unify(local, "-c", "many", check=False)
    assert done.returncode == 2
    assert names(local) == LOCAL


@pytest.mark.parametrize("count", ["0", "-1", "many"])
def test_bad_number_of_threads(local: Path, count: str) -> None:
    done = unify(local, "-j", count, "many", check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert names(local) == LOCAL


def test_two_prefixes(local: Path) -> None:
    assert unify(local, "many", "more", check=False).returncode == 2
    assert names(local) == LOCAL


def test_same_input_same_bytes(build: Builder, tmp_path: Path) -> None:
    """The archive has the same bytes for any number of threads: ids in order of locations, integer arithmetic."""
    program = build("threads.c", flags=("-O1", "-pthread"))
    run(program, tmp_path, "together", "5", "400")
    found = []
    for number, jobs in enumerate(("1", "2", "7")):
        unify(tmp_path, "-k", "-j", jobs, "-o", f"t{number}", "threads")
        archive = tmp_path / f"t{number}.trace"
        files = sorted(path for path in archive.rglob("*") if path.is_file() and path.suffix in (".evt", ".def"))
        found.append({str(path.relative_to(archive)): path.read_bytes() for path in files})
        assert len(check(archive).locations) == 6
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 13
