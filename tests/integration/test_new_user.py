# SPDX-License-Identifier: BSD-3-Clause
"""README.md as written: its commands run, and print what README.md shows."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.build.run import names, vtrace
from support.build.wrap import MPI_C, write_sources
from support.readers import readme
from support.tools import BIN, ROOT, call, command, need, unavailable

BLOCKS = readme.blocks()
CMAKE = "cmake_minimum_required(VERSION 3.10)\nproject(p C)\nadd_executable(prog main.c twice.c)\n"
CONFIGURE = """\
#!/bin/sh
for word in "$@"; do eval "${word%%=*}='${word#*=}'"; done
echo 'int main(void) { return 0; }' > conftest.c
$CC conftest.c -o conftest && ./conftest || exit 77
rm conftest conftest.c
printf 'prog: main.c twice.c\\n\\t%s -O1 main.c twice.c -o prog\\n' "$CC" > Makefile
"""


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    """Requires the installed commands, like a new user."""
    if not (BIN / "vtrace-cc").exists():
        unavailable("vtrace is not installed beside this Python")


@pytest.fixture(scope="module")
def quickstart(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The directory of the example after the quickstart, and the output of each command."""
    need("mpicc")
    place = tmp_path_factory.mktemp("new") / "heat2d"
    shutil.copytree(ROOT / "examples" / "heat2d", place)
    (block,) = (block for block in BLOCKS if any(c.shown for c in block.commands))
    printed = {}
    for typed in block.commands:
        done = call(["sh", "-c", typed.line], place)
        printed[typed.line] = done.stdout + done.stderr
    return place, printed


def test_quickstart_prints_what_is_shown(quickstart: tuple[Path, dict[str, str]]) -> None:
    transcripts = [c for block in BLOCKS for c in block.commands if c.shown is not None]
    assert [c.line.split()[0] for c in transcripts] == ["vtrace-cc", "mpiexec", "vtunify", "vtrace"]
    for typed in transcripts:
        assert not readme.missing(typed.shown or [], quickstart[1][typed.line]), quickstart[1][typed.line]


def test_comparing_sees_differences() -> None:
    printed = "rank 0 of 4 wrote 3701 records, 99 bytes; next\ntime  1.5 s, clock rdtsc\n"
    alike = ["...", "  rank 0 of 4 wrote 3701 records, 42 bytes; next", "time 0.25 s, clock rdtsc"]
    other = [
        "rank 1 of 4 wrote 3701 records, 99 bytes; next", "rank 0 of 4 wrote 3700 records, 99 bytes; next",
        "time 1.5 s", "time 1.5 s, clock cntvct",
    ]  # fmt: skip
    assert readme.missing([*alike, *other], printed) == other


def test_python_script(quickstart: tuple[Path, dict[str, str]]) -> None:
    (block,) = (block for block in BLOCKS if block.script)
    done = call([sys.executable, "-c", block.script], quickstart[0])
    about = json.loads(vtrace(quickstart[0], "info", "--json", "heat2d").stdout)
    assert len(done.stdout.splitlines()) == sum(about["events"].values()) > 10000


def test_settings_and_their_defaults(quickstart: tuple[Path, dict[str, str]]) -> None:
    used = json.loads(vtrace(quickstart[0], "info", "--json", "heat2d").stdout)["settings"]
    table = {}
    for names_, values in re.findall(r"^\| (VT_[\w, ]+) \| (.+?) \|", readme.TEXT, re.MULTILINE):
        many, defaults = names_.split(", "), values.split(", ")
        table.update(zip(many, defaults * len(many) if len(defaults) == 1 else defaults, strict=False))
    assert set(table) - set(used) <= {"VT_FUNCTIONS", "VT_FILTER_SPEC", "VT_START_AFTER", "VT_STOP_AFTER"}, (
        "settings without a default"
    )
    assert len(table) >= 10
    given = {name: value for name, value in table.items() if re.fullmatch(r"\d+[KMG]?|yes|no", value)}
    assert len(given) >= 6
    assert given == {name: used[name] for name in given}
    assert used["VT_FILE_PREFIX"] == "heat2d"
    assert used["VT_PFORM_GDIR"] == used["VT_PFORM_LDIR"] == str(quickstart[0])


def test_viewing(quickstart: tuple[Path, dict[str, str]]) -> None:
    (block,) = (block for block in BLOCKS if block.heading == "Viewing" and block.commands)
    lines = [typed.line.partition("#")[0].strip() for typed in block.commands]
    assert [line.split()[1] for line in lines] == [
        "summary",
        "profile",
        "diff",
        "view",
        "view",
        "mpip",
        "report",
        "export",
        "cut",
    ]
    summary, profile, diff, view, text, mpip, report, export, cut = lines
    assert "MPI Rank 0" in call(["sh", "-c", text], quickstart[0]).stdout
    assert "exclusive s" in call(["sh", "-c", profile], quickstart[0]).stdout
    assert "mpiP" in call(["sh", "-c", mpip], quickstart[0]).stdout
    assert "Time by class" in call(["sh", "-c", summary], quickstart[0]).stdout
    for name in diff.split()[2:]:
        (quickstart[0] / f"{name}.trace").symlink_to(quickstart[0] / "heat2d.trace")
    assert "no differences" in call(["sh", "-c", diff], quickstart[0]).stdout
    call(["sh", "-c", report], quickstart[0])
    call(["sh", "-c", export], quickstart[0])
    call(["sh", "-c", cut], quickstart[0])
    assert {"heat2d.html", "middle.trace"} <= names(quickstart[0])
    done = call(["sh", "-c", f"{view} --idle 0.02"], quickstart[0], {"BROWSER": "true"})
    assert "http://127.0.0.1:" in done.stdout + done.stderr


def project(line: str, directory: Path) -> Path:
    """Creates the files for a command that builds something. Returns the path of the program to build."""
    if line.startswith("make "):
        shutil.copytree(ROOT / "examples" / "heat2d", directory, dirs_exist_ok=True)
        return directory / "heat2d"
    write_sources(directory)
    if line.startswith("./configure "):
        (directory / "configure").write_text(CONFIGURE)
        (directory / "configure").chmod(0o755)
        return directory / "prog"
    assert "cmake " in line, f"no test for this command of README.md: {line}"
    need("cmake")
    (directory / "CMakeLists.txt").write_text(CMAKE)
    return directory / "build" / "prog"


OTHERS = ("Install", "Without a rebuild", "Viewing")
BUILDS = [c.line for block in BLOCKS for c in block.commands if c.shown is None and block.heading not in OTHERS]
SOLVE_PY = "from mpi4py import MPI\nprint(MPI.COMM_WORLD.allreduce(1))\n"


@pytest.mark.parametrize("line", BUILDS)
def test_build_systems(line: str, tmp_path: Path) -> None:
    need("mpicc")
    program = project(line, tmp_path)
    call(["sh", "-c", line], tmp_path)
    (tmp_path / "here").mkdir()
    arguments = ("26", "5") if program.name == "heat2d" else ()
    call([program, *arguments], tmp_path / "here")
    assert f"{program.name}.uctl" in names(tmp_path / "here"), "the program must be traced"
    assert not list(tmp_path.rglob("*conftest*")), "test programs of configure must not be traced"


def test_without_a_rebuild(tmp_path: Path) -> None:
    (tmp_path / "solve.py").write_text(SOLVE_PY)
    (tmp_path / "mpi.c").write_text(MPI_C)
    call([need("mpicc"), "mpi.c", "-o", "solver"], tmp_path)
    (block,) = (block for block in BLOCKS if block.heading == "Without a rebuild")
    assert [c.line.split()[0] for c in block.commands] == ["vtrace", "vtrace", "vtrace"]
    solver, ran, shown = (call(["sh", "-c", c.line], tmp_path, {"VT_UNIFY": ""}) for c in block.commands)
    assert "solver.trace: 4 ranks, 4 locations" in solver.stderr
    assert ran.stdout.replace("\n", "") == "4" * 4, "the four ranks write in any order"
    assert "solve.trace: 4 ranks, " in ran.stderr
    assert "Time by class" in shown.stdout


def test_several_programs_in_one_run(tmp_path: Path) -> None:
    """The two commands in the text of README.md, one after the other."""
    need("mpicc")
    (tmp_path / "mpi.c").write_text(MPI_C)
    for name in ("ocean", "atmos"):
        call([*command("vtrace-cc"), "mpi.c", "-o", name], tmp_path)
    typed = [text for text in readme.inline() if "coupled" in text]
    assert [text.split()[0] for text in typed] == ["VT_FILE_PREFIX=coupled", "vtunify"]
    for line in typed:
        done = call(["sh", "-c", line], tmp_path)
    assert done.stdout.startswith("coupled.trace: 3 ranks, 3 locations")


def test_commands_in_the_text(tmp_path: Path) -> None:
    """The sub-commands, options and make targets in the text exist."""
    seen = 0
    for text in readme.inline():
        words = text.split()
        if words[0] in ("vtrace", "vtunify"):
            commands = [word for word in words[1:2] if word.islower() and words[0] == "vtrace"]
            shown = call([*command(words[0]), *commands, "--help"], tmp_path).stdout
            seen += 1
            assert all(word in shown for word in words[1:] if word.startswith("-")), text
        elif words[0] == "make" and "=" not in text and words[1:]:
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE), text
            seen += 1
    assert seen >= 4
    wrappers = ("vtrace-cc", "vtrace-cxx", "vtrace-fc")
    wrapper = "".join(call([*command(name), "-vt:help"], tmp_path).stdout for name in wrappers)
    options = set(re.findall(r"-vt:\w+(?: manual)?", readme.TEXT))
    assert len(options) >= 4
    assert all(option in wrapper for option in options)


def test_variables_and_files_in_the_text() -> None:
    sources = [*(ROOT / "csrc").rglob("*.[ch]"), *(ROOT / "src" / "vtrace").rglob("*.py")]
    known = set(re.findall(r"\bVT_[A-Z_]+\b", "".join(path.read_text() for path in sources)))
    assert set(re.findall(r"\bVT_[A-Z_]+\b", readme.TEXT)) <= known
    for target in re.findall(r"\]\(([^)]+)\)", readme.TEXT):
        assert target.startswith("https://") or (ROOT / target).exists(), target
    assert len(readme.TEXT.splitlines()) <= 150


@pytest.mark.full
def test_install(tmp_path: Path) -> None:
    """The commands of the section Install. pip downloads packages from the package index."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    for name in filter(None, tracked.split("\0")):
        target = tmp_path / "vtrace-source" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    (block,) = (block for block in BLOCKS if block.heading == "Install")
    lines = [
        "set -e",
        *(c.line for c in block.commands),
        "command -v mpiexec",
        "command -v vtrace-cc",
        "vtrace --version",
    ]
    script = "\n".join(lines)
    done = call(["sh", "-c", script], tmp_path / "vtrace-source", {"HOME": str(tmp_path)}, timeout=600)
    assert all(line.startswith(f"{tmp_path}/") for line in done.stdout.splitlines()[-3:-1])
    assert done.stdout.splitlines()[-1].startswith("vtrace ")
