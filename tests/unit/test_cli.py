# SPDX-License-Identifier: BSD-3-Clause
"""The commands, called with words that a user types."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from support.synthetic_runs.local_files import Chunk, write_defs, write_events
from support.tools import Done, call, command
from vtrace import __version__, cli
from vtrace.commands import info, vtunify
from vtrace.io.local.records import DEFINITIONS

NS = 1_700_000_000_000_000_000
HEAD = {"prefix": "heat", "world": 0, "start": NS, "pair": (1000, 1000, NS), "host": "node1"}


@pytest.fixture
def heat(tmp_path: Path) -> Path:
    """A directory with the local files of one process that calls one region twice."""
    definitions = [
        ["PROPERTY", "command", ["./heat", "two words"]], ["PROPERTY", "setting.VT_CLEAN", "yes"],
        ["REGION", 1, "work", 1, 1, None, 0], ["SUMMARY", 0, 4, 7, 0, 0, 0, 0, 1040, 0],
    ]  # fmt: skip
    write_defs(tmp_path / "heat.1.def.z", [[DEFINITIONS[name], *values] for name, *values in definitions], **HEAD)
    chunk = Chunk(ticks=1000, pair=(1000, 1000, NS))
    for _ in range(2):
        chunk.record("ENTER", 10, 1).record("LEAVE", 10, 1)
    write_events(tmp_path / "heat.1.events.z", [chunk], **HEAD)
    return tmp_path


def vtunify_in(directory: Path, *words: str, env: dict[str, str] | None = None) -> Done:
    return call([*command("vtunify"), *words], directory, env, check=False)


def vtrace_in(directory: Path, *words: str) -> Done:
    return call([*command("vtrace"), *words], directory, check=False)


@pytest.mark.parametrize("words", [["-k", "heat"], ["heat", "-k"], ["heat", "--keeplocal", "--nocompress", "-j", "1"]])
def test_options_before_and_behind_the_prefix(heat: Path, words: list[str]) -> None:
    done = vtunify_in(heat, *words)
    assert (done.returncode, done.stderr) == (0, "vtunify: warning: 7 events were not recorded on process node1:100\n")
    assert done.stdout.splitlines() == [
        "u_heat.trace: 1 process, 1 location, 4 events, 0 messages, 0 collective calls, 3e-08 s",
        "next: vtrace summary u_heat.trace, vtrace view u_heat.trace",
    ]
    assert {path.name for path in heat.iterdir()} == {"u_heat.trace", "heat.1.def.z", "heat.1.events.z"}


def test_directory_in_the_prefix(heat: Path) -> None:
    done = vtunify_in(heat.parent, f"{heat.name}/heat")
    assert (done.returncode, f"next: vtrace summary {heat.name}/heat" in done.stdout) == (0, True)
    assert {path.name for path in heat.iterdir()} == {"heat.trace"}


@pytest.mark.parametrize(
    "words", ["heat -k -o first", "-q -v -ofirst -p --nocompress -j2 --keeplocal ./heat", "--progress heat -k -o first"]
)
def test_name_wins_over_keep(heat: Path, words: str) -> None:
    assert vtunify_in(heat, *words.split()).returncode == 0
    assert (heat / "first.trace" / "traces.otf2").exists()
    assert not (heat / "u_heat.trace").exists()


@pytest.mark.parametrize("words", [["-c", "heat"], ["heat", "-c"]])
def test_the_abolished_option(heat: Path, words: list[str]) -> None:
    done = vtunify_in(heat, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("vtunify: error: invalid option -- -c")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "words", ["", "heat sim", "heat -j 0", "heat -j -1", "heat -j many", "heat -o", "heat --forc", "--nonsense heat"]
)
def test_wrong_use(heat: Path, words: str) -> None:
    done = vtunify_in(heat, *words.split())
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert done.stderr.startswith("vtunify: error: ")
    assert len(list(heat.iterdir())) == 2


@pytest.mark.parametrize(
    ("words", "start", "level"),
    [
        ("", 1, 1), ("q", 1, 0), ("v", 1, 2), ("vv", 1, 3), ("vvv", 0, 3), ("qv", 2, 2), ("vq", 2, 0), ("vqvv", 0, 3),
        ("", 0, 0), ("", 2, 2), ("v", 0, 2),
    ],
)  # fmt: skip
def test_levels_the_last_option_wins(words: str, start: int, level: int) -> None:
    assert vtunify.level(tuple(word == "v" for word in words), start) == level


@pytest.mark.parametrize(
    ("words", "value", "talks", "warns"),
    [
        ((), "0", False, False), ((), "1", False, True), ((), "2", True, True), (("-q",), "2", False, False),
        (("-v",), "0", True, True), (("-v", "-q"), "2", False, False), (("-qv",), "0", True, True),
    ],
)  # fmt: skip
def test_verbosity(heat: Path, words: tuple[str, ...], value: str, talks: bool, warns: bool) -> None:
    done = vtunify_in(heat, "heat", *words, env={"VT_VERBOSE": value})
    assert ("names of functions" in done.stderr, "not recorded" in done.stderr) == (talks, warns)
    assert bool(done.stdout) == warns
    assert (heat / "heat.trace").exists()


def test_bad_verbosity_is_told(heat: Path) -> None:
    done = vtunify_in(heat, "heat", env={"VT_VERBOSE": "loud"})
    assert done.returncode == 0
    assert "VT_VERBOSE=loud is not a whole number: 1 is used" in done.stderr


def test_progress_in_lines_where_there_is_no_terminal(heat: Path) -> None:
    assert "vtunify: events: 100 %" in vtunify_in(heat, "-p", "heat").stderr


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_versions(tmp_path: Path, option: str) -> None:
    assert vtunify_in(tmp_path, option).stdout == f"vtunify (vtrace) {__version__}\n"
    assert vtrace_in(tmp_path, option).stdout == f"vtrace {__version__}\n"


def test_parallel_unifier_alone(heat: Path) -> None:
    """Without mpiexec, vtunify-mpi runs as one rank."""
    done = call([*command("vtunify-mpi"), "heat"], heat, check=False)
    assert done.returncode == 0, str(done)
    assert done.stdout.startswith("heat.trace: 1 process, 1 location, 4 events, ")


def test_parallel_unifier_without_mpi4py(heat: Path) -> None:
    (heat / "mpi4py.py").write_text("raise ImportError('No module named mpi4py')")
    done = call([*command("vtunify-mpi"), "heat"], heat, {"VTRACE_PYTHONPATH": str(heat)}, check=False)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert "pip install 'vtrace-otf2[mpi]'" in done.stderr
    assert "vtunify PREFIX" in done.stderr


def test_info_of_an_archive(heat: Path) -> None:
    (heat / "heat").write_text("an executable of the same name")
    assert vtunify_in(heat, "-q", "heat").returncode == 0
    shown = {operand: vtrace_in(heat, "info", operand) for operand in ("heat", "heat.trace", "heat.trace/traces.otf2")}
    assert {done.returncode for done in shown.values()} == {0}
    assert {done.stdout.splitlines()[-1] for done in shown.values()} == {
        f"next: vtrace summary {operand}, vtrace view {operand}" for operand in shown
    }
    assert len({done.stdout.rpartition("next:")[0] for done in shown.values()}) == 1
    for text in (
        "./heat 'two words'",
        "node1",
        "VT_CLEAN=yes",
        "rdtsc",
        "Enter  2",
        "Process node1:100",
        "7 events lost",
    ):
        assert text in shown["heat"].stdout, text
    data = json.loads(vtrace_in(heat, "info", "--json", "heat").stdout)
    assert data["events"] == {"Enter": 2, "Leave": 2}
    assert data["about"]["command"] == ["./heat", "two words"]
    assert data["settings"] == {"VT_CLEAN": "yes"}
    location = data["locations"][0]
    assert (location["name"], location["events"], location["seconds"], location["lost"]) == (
        "Master thread",
        4,
        3e-8,
        7,
    )
    assert data["coverage"]["lost"] == 7


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("timers heat --all", "profile heat --by timer --json --select region=*"),
        ("timers heat --format perf.hh", "profile heat --by timer --metrics perf.hh"),
        ("score heat", "filter heat --top 30"),
        ("summary heat --rank 0 --helpers", "summary heat --ranks 0,helpers"),
        ("diff heat heat --relative --json", "diff heat heat --sort exclusive% --json"),
        ("dump heat.1.events.z --no-records", "dump heat.1.events.z --only definition"),
        ("view --text heat --rows 1", "view --text heat --most 1"),
    ],
)
def test_old_names(heat: Path, old: str, new: str) -> None:
    assert vtunify_in(heat, "-k", "-q", "-o", "heat", "heat", "--tiles", "--also", "tiles").returncode == 0
    before, now = (vtrace_in(heat, *words.split()) for words in (old, new))
    assert (before.returncode, before.stdout, before.stderr) == (now.returncode, now.stdout, now.stderr)
    assert before.stdout or before.returncode == 2


@pytest.mark.parametrize(
    "words", ["summary --by rank", "diff --csv", "cut --helpers", "report --top 3", "profile --rank 0"]
)
def test_options_that_a_command_does_not_take(heat: Path, words: str) -> None:
    done = vtrace_in(heat, *words.split(), "heat")
    assert (done.returncode, done.stdout) == (2, "")
    assert "invalid option" in done.stderr


def test_info_of_local_files(heat: Path) -> None:
    done = vtrace_in(heat, "info", "heat")
    assert (done.returncode, done.stderr) == (0, "")
    assert "next: vtunify heat" in done.stdout
    found = json.loads(vtrace_in(heat, "info", "heat", "--json").stdout)
    assert (found["files"], found["next"], found["hosts"]) == (2, "vtunify heat", ["node1"])
    assert len(list(heat.iterdir())) == 2


def test_info_of_nothing_and_of_a_broken_archive(heat: Path) -> None:
    done = vtrace_in(heat, "info", "sim")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    (heat / "x.trace").mkdir()
    (heat / "x.trace" / "traces.otf2").write_text("no")
    done = vtrace_in(heat, "info", "x")
    assert done.returncode == 1
    assert "vtrace: error: x.trace/traces.otf2 cannot be read" in done.stderr


def test_vtunify_loads_no_more_than_it_needs(tmp_path: Path) -> None:
    unneeded = {"concurrent.futures", "difflib", "hashlib", "logging", "_hashlib", "multiprocessing"}
    code = (
        "from vtrace.commands import vtunify; vtunify.reduce_overhead()\n"
        "import vtrace.unify.run, vtrace.unify.discover.list_files, numpy\n"
        f"print(sorted({unneeded!r} & set(sys.modules)))"
    )
    done = call([sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}\n{code}"], tmp_path)
    assert done.stdout == "[]\n"


def test_vtunify_takes_no_huge_pages(tmp_path: Path) -> None:
    """Linux marks memory for which huge pages were wanted by hg."""
    code = (
        "from vtrace.commands import vtunify; vtunify.reduce_overhead()\n"
        "import numpy; from pathlib import Path\n"
        "values = numpy.ones(1 << 25, numpy.uint8); address = values[1 << 24:].ctypes.data\n"
        "for line in Path('/proc/self/smaps').read_text().splitlines():\n"
        "    words = line.split()\n"
        "    if not words[0].endswith(':'): begin, end = (int(word, 16) for word in words[0].split('-'))\n"
        "    if words[0] == 'VmFlags:' and begin <= address < end: print('hg' in words)"
    )
    done = call([sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}\n{code}"], tmp_path)
    assert done.stdout == "False\n"


def test_vtrace_loads_what_it_needs_of_numpy(heat: Path) -> None:
    code = (
        "from vtrace.main import main; sys.argv = ['vtrace', 'info', 'heat']; main(); import numpy, os; "
        "print(os.environ['OPENBLAS_NUM_THREADS'], 'numpy.ma' in sys.modules)"
    )
    done = call([sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}\n{code}"], heat)
    assert done.stdout.splitlines()[-1] == "1 False"


def test_vtrace_looks_for_cycles_of_objects_rarely(heat: Path) -> None:
    """Python looks for cycles neither after each 700 new objects nor, since all objects are frozen then, at the
    exit."""
    code = (
        "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count() > 10_000)); "
        "from vtrace.main import main; sys.argv = ['vtrace', 'info', 'heat']; main(); "
        "print(gc.get_stats()[0]['collections'] < 10)"
    )
    done = call([sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}\n{code}"], heat)
    assert done.stdout.splitlines()[-2:] == ["True", "True"]


def test_commands_are_loaded_when_called(tmp_path: Path) -> None:
    code = "import sys, vtrace.cli; sys.exit('numpy' in sys.modules or 'otf2' in sys.modules)"
    assert call([sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}\n{code}"], tmp_path).returncode == 0
    listed = vtrace_in(tmp_path, "--help").stdout
    for name in ("completion", "dump", "info", "shim"):
        assert f"\n  {name}" in listed
    for name in ("dump", "info", "shim"):
        assert isinstance(cli.command.get_command(click.Context(cli.command), name), click.Command)


@pytest.mark.parametrize("name", cli.command.list_commands(click.Context(cli.command)))
def test_the_list_of_commands_says_what_the_help_says(name: str) -> None:
    """A command's help begins with its line in the list, for any number of calls."""
    context = click.Context(cli.command)
    found = [cli.command.get_command(context, name) for _ in range(2)]
    assert found[0] is found[1]
    listed = CliRunner().invoke(cli.command, ["--help"], prog_name="vtrace").output
    shown = CliRunner().invoke(cli.command, [name, "--help"], prog_name="vtrace").output
    (line,) = re.findall(rf"^  {name} +(.*)$", listed.partition("Prepare:")[2], re.MULTILINE)
    assert [text.strip() for text in shown.splitlines() if text.strip()][1] == line
    assert shown.count(line) == 1


@pytest.mark.parametrize(("typed", "offered"), [("", ["heat"]), ("he", ["heat"]), ("x", [])])
def test_completion_of_prefixes(heat: Path, monkeypatch: pytest.MonkeyPatch, typed: str, offered: list[str]) -> None:
    monkeypatch.chdir(heat)
    parameter = vtunify.command.params[0]
    found = parameter.shell_complete(click.Context(vtunify.command), typed)
    assert [item.value for item in found] == offered
    below = parameter.shell_complete(click.Context(vtunify.command), f"{heat}/{typed}")
    assert [item.value for item in below] == [f"{heat}/{name}" for name in offered]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_interrupt_leaves_nothing(heat: Path, number: signal.Signals) -> None:
    """The signal arrives while vtunify writes the archive: the kernel is replaced by a sleep."""
    before = {path.name for path in heat.iterdir()}
    code = (
        f"import sys, time; sys.path[:] = {sys.path!r}; sys.argv = ['vtunify', 'heat']\n"
        "from vtrace.io.local.kernel import Kernel\n"
        "from vtrace.commands.vtunify import main\n"
        "Kernel.transcode = lambda *args, **named: time.sleep(60)\n"
        "sys.exit(main())"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=heat, stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while not any(path.name.startswith(".heat.trace.tmp-") for path in heat.iterdir()):
        assert time.monotonic() < until
        time.sleep(0.02)
    time.sleep(0.2)
    process.send_signal(number)
    assert process.wait(30) == 130
    assert {path.name for path in heat.iterdir()} == before
    assert process.stderr is not None
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()


def test_text_that_is_no_text() -> None:
    lines = info._aligned([("command", "caf\udce9\nb\x1b[2J")])
    assert lines == ["  command  caf\\udce9\\nb\\x1b[2J"]
