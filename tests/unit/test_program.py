# SPDX-License-Identifier: BSD-3-Clause
"""Analysis of the program to trace: interpreter, script, libraries; and the few modules that the analysis imports."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from support.tools import BIN, call, environment, injected, need
from vtrace.python_command import python_script
from vtrace.unify.merge.system import program_name
from vtrace.wrappers.launch import program as programs
from vtrace.wrappers.launch.preload import joined, script_name, standard_prefix

HEAVY = {"click", "dataclasses", "inspect", "json", "pathlib", "subprocess", "typing", "shutil", "hashlib", "elftools"}


def test_loads_little() -> None:
    """vtrace run precedes each rank of a job, so all ranks read the modules that it imports."""
    code = (
        "import sys, vtrace.main, vtrace.wrappers.launch.choices, vtrace.wrappers.launch.start as launch\n"
        "chosen = vtrace.wrappers.launch.choices.parse(['--io', 'true'])\n"
        "launch.prepare(chosen, launch.environment())\n"
        "import json; print(json.dumps(sorted(set(sys.modules) - set(before))))"
    )
    # site imports modules for packages installed in development mode: these do not count.
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; before = list(sys.modules)\n{code}"], capture_output=True, text=True,
        check=True, env=environment(),
    )  # fmt: skip
    loaded = set(json.loads(done.stdout.splitlines()[-1])) - {"json"}
    assert "vtrace.wrappers.launch.preload" in loaded
    assert not loaded & (HEAVY - {"json"})


def test_loads_little_for_a_program_without_local_files(tmp_path: Path) -> None:
    """Programs that record nothing are short, as those of a build are: unifying must not be loaded to say nothing."""
    code = "import atexit, sys; atexit.register(lambda: open('loaded', 'w').write(' '.join(sys.modules)))"
    env = environment({**injected(tmp_path / "code", code), "VT_UNIFY": "yes"})
    subprocess.run([BIN / "vtrace", "run", "true"], cwd=tmp_path, env=env, check=True, capture_output=True)
    loaded = set((tmp_path / "loaded").read_text().split())
    assert "vtrace.commands.whole_run" in loaded
    assert not loaded & {"click", "numpy", "vtrace.unify"}


@pytest.mark.parametrize(
    ("line", "script"),
    [
        ("solve.py a", "solve.py"),
        ("-u -W ignore -X dev solve.py", "solve.py"),
        ("-m mpi4py solve.py", "solve.py"),
        ("-m mpi4py -m pkg.solve", "solve"),
        ("-m pkg.tool x.py", "tool"),
        ("-c code solve.py", None),
        ("-uc code solve.py", None),
        ("-Wc -Xm --check-hash-based-pycs always solve.py", "solve.py"),
        ("-um pkg.tool x.py", "tool"),
        ("-mpkg.tool x.py", "tool"),
        ("- x", None),
        ("", None),
    ],
)
def test_python_script(line: str, script: str | None) -> None:
    assert python_script(shlex.split(line)) == script
    assert program_name("/usr/bin/python3.11", ["python3", *shlex.split(line)]) == (script or "python3.11")
    assert program_name("/opt/heat", ["./heat", *shlex.split(line)]) == "heat"


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["python3", "dir/solve.py"], "solve"),
        (["bash", "job.sh"], "job"),
        (["bash", "-c", "job.sh"], None),
        (["ls", "a.py"], None),
    ],
)
def test_name_of_a_script(words: list[str], name: str | None) -> None:
    program = programs.Program(words, words[0], f"/bin/{words[0]}", None)
    assert script_name(program) == name


def test_standard_prefix(tmp_path: Path) -> None:
    """The same prefix as in csrc/core/settings.c, from the target of a symbolic link."""
    (tmp_path / "real.out").write_text("")
    (tmp_path / "link").symlink_to("real.out")
    assert standard_prefix(str(tmp_path / "link")) == "real"
    assert standard_prefix("a.exe") == "a"
    assert standard_prefix(".out") == ".out"


def test_interpreters(tmp_path: Path) -> None:
    """vtrace run resolves env in a script's first line, and leaves other interpreters to the kernel."""
    cases = {
        "#!/usr/bin/env sh": ["sh", "./s", "x"],
        "#!/usr/bin/env -S sh -e": ["sh", "-e", "./s", "x"],
        "#!/usr/bin/env -S A=b sh": ["./s", "x"],
        "#!/usr/bin/env -i sh": ["./s", "x"],
        "#!/bin/sh -e": ["./s", "x"],
    }
    for line, words in cases.items():
        (tmp_path / "s").write_text(f"{line}\n")
        (tmp_path / "s").chmod(0o755)
        found = programs.find(["./s", "x"], environment(), str(tmp_path))
        assert found.words == words, line
        assert Path(found.script or "").name == "s"


def test_what_the_loader_lists(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("#include <math.h>\nint main(int c, char **v) { return (int)cos(c); }\n")
    call([need("gcc"), "-O0", "a.c", "-Wl,--no-as-needed", "-lm", "-o", "a"], tmp_path)
    elf = programs.read_elf(str(tmp_path / "a"))
    assert elf
    found = programs.libraries(elf, str(tmp_path / "a"), environment({"LD_PRELOAD": "/no/such.so"}))
    assert Path(found.libraries["libm.so.6"] or "").exists()
    assert "/no/such.so" not in found.libraries
    assert any("/no/such.so" in line for line in found.errors)


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"\x7fELF\2\1" + b"\xff" * 200, b"#!/bin/sh\n" * 20])
def test_what_is_no_executable(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "f").write_bytes(content)
    elf = programs.read_elf(str(tmp_path / "f"))
    assert elf is None or elf.loader is None
    assert programs.read_elf(str(tmp_path / "none")) is None


def test_order_of_preloads() -> None:
    assert joined(["/a", "/b"], {"LD_PRELOAD": "/x:/a /y"}) == "/a:/b:/x:/y"
    assert joined(["/a"], {}) == "/a"
