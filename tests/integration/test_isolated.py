# SPDX-License-Identifier: BSD-3-Clause
"""The environment and the current directory belong to the traced program: what is there for its Python does not reach
vtrace's own commands, and the program gets it unchanged."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

import pytest

from support.build.run import names
from support.tools import BIN, call, command, environment, need, unavailable

FOREIGN = ("click", "encodings", "numpy", "os", "re", "sitecustomize", "usercustomize")
"""Modules that vtrace's commands or the start of Python import."""
VARIABLES = {
    "PYTHONHOME": "/nonexistent", "PYTHONPATH": "{foreign}", "PYTHONUSERBASE": "{foreign}", "PYTHONINSPECT": "1",
    "PYTHONOPTIMIZE": "2", "PYTHONSTARTUP": "{foreign}/numpy.py", "PYTHONWARNINGS": "error", "PYTHONDEVMODE": "1",
    "PYTHONPROFILEIMPORTTIME": "1", "PYTHONSAFEPATH": "1", "PYTHONVERBOSE": "1", "PYTHONIOENCODING": "utf-16",
    "PYTHONHASHSEED": "bad", "PYTHONPLATLIBDIR": "lib7", "PYTHONUTF8": "bad", "PYTHONMALLOC": "none",
    "BASH_FUNC_module%%": "() { true; }",
}  # fmt: skip
"""Variables of the program; a shell that starts vtrace would drop the last one."""


@pytest.fixture(autouse=True)
def _installed() -> None:
    if not (BIN / "vtrace").exists():
        unavailable("vtrace is not installed beside this Python")


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A directory of modules that cannot be imported."""
    place = tmp_path / "foreign"
    place.mkdir()
    for name in FOREIGN:
        (place / f"{name}.py").write_text("raise ImportError('for another Python')\n")
    return place


def variables(foreign: Path) -> dict[str, str]:
    return {name: value.format(foreign=foreign) if "{f" in value else value for name, value in VARIABLES.items()}


def without_settings(environ: str) -> set[str]:
    """The variables that a program prints, without those that vtrace run sets."""
    ours = (
        "LD_PRELOAD=",
        "VT_",
        "VTRACE_",
        "_=",
        "NVTX_INJECTION64_PATH=",
        "INTEL_LIBITTNOTIFY64=",
        "KOKKOS_TOOLS_LIBS=",
    )
    return {line for line in environ.splitlines() if not line.startswith(ours)}


def test_variables(tmp_path: Path, foreign: Path) -> None:
    """vtrace run, with all of them at once: records, unifies, and the program has the same variables."""
    env = variables(foreign)
    plain = subprocess.run([need("env")], env=environment(env), capture_output=True, text=True, check=True)
    done = call([*command("vtrace"), "run", "--io", "--unify", "-o", "t", need("env")], tmp_path, env)
    assert without_settings(done.stdout) == without_settings(plain.stdout)
    assert "t.trace" in names(tmp_path)
    assert "summary" not in done.stdout
    assert "rror" not in done.stderr, done.stderr


@pytest.mark.parametrize("name", ["vtrace-cc", "vtrace-cxx", "vtrace-fc", "vtunify", "vtunify-mpi", "vtrace"])
def test_commands(tmp_path: Path, foreign: Path, name: str) -> None:
    option = "-vt:version" if name in ("vtrace-cc", "vtrace-cxx", "vtrace-fc") else "--version"
    done = call([*command(name), option], foreign, variables(foreign))
    assert (done.stdout.split()[-1], done.stderr) == (call([*command(name), option], tmp_path).stdout.split()[-1], "")


def test_module(foreign: Path, tmp_path: Path) -> None:
    """python -m vtrace; Python's own start is not vtrace's."""
    env = {"PYTHONPATH": str(foreign), "PYTHONWARNINGS": "error"}
    for name in ("encodings", "os", "re", "sitecustomize", "usercustomize"):
        (foreign / f"{name}.py").unlink()
    for cwd in (tmp_path, foreign):
        assert call([sys.executable, "-m", "vtrace", "settings"], cwd, env).stdout.startswith("VT_")


def test_directory_of_modules(tmp_path: Path) -> None:
    """VTRACE_PYTHONPATH: modules that vtrace must find, such as a source tree; PYTHONPATH is for the program."""
    (tmp_path / "vtrace").mkdir()
    (tmp_path / "vtrace" / "__init__.py").write_text("")
    (tmp_path / "vtrace" / "entry.py").write_text("def run():\n    print('this one')\n")
    words = [*command("vtrace"), "--version"]
    assert call(words, tmp_path, {"VTRACE_PYTHONPATH": str(tmp_path)}).stdout == "this one\n"
    assert call(words, tmp_path, {"PYTHONPATH": str(tmp_path)}).stdout.startswith("vtrace ")


def installed(place: Path, packages: Path, script: str) -> Path:
    """An installation with the layout that pip makes: place/bin with the commands, and a package in packages."""
    (place / "bin").mkdir(parents=True)
    (place / "bin" / "vtrace").write_bytes((BIN / "vtrace").read_bytes())
    (place / "bin" / "vtrace").chmod(0o755)
    (place / "bin" / "vtrace-python").write_text(script)
    (packages / "vtrace").mkdir(parents=True)
    (packages / "vtrace" / "__init__.py").write_text("")
    (packages / "vtrace" / "entry.py").write_text("import sys\ndef run():\n    print(*sys.argv)\n")
    return place / "bin" / "vtrace"


def start(command: Path, env: Mapping[str, str] | None = None) -> str:
    done = call([command, "a", "b c"], command.parent, env, check=False)
    return done.stdout + done.stderr


LINES = {
    "short": "#!{python}\nimport x\n",
    "option": "#!{python} -E\nimport x\n",
    "long": "#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n",
    "long, pip's": "#!/bin/sh\n'''exec' {python} \"$0\" \"$@\"\n' '''\n",
    "long, uv's": "#!/bin/sh\n'''exec' '{python}' \"$0\" \"$@\"\n' '''\n",
}
"""The first lines that installers write into scripts."""


@pytest.mark.parametrize("form", LINES)
def test_installers(tmp_path: Path, form: str) -> None:
    """A user's directory and that of --target, which Python leaves out with -I; a symbolic link to a command."""
    packages = f"lib/python{sysconfig.get_python_version()}/site-packages"
    script = LINES[form].format(python=os.path.realpath(sys.executable))
    for number, below in enumerate((packages, "")):
        place = tmp_path / str(number)
        made = installed(place, place / below, script)
        link = tmp_path / f"link{number}"
        link.symlink_to(made)
        for path in (made, link):
            assert start(path, {"PYTHONHOME": "/nonexistent"}) == f"{made} a b c\n"


def test_no_python(tmp_path: Path) -> None:
    made = installed(tmp_path, tmp_path, "#!/nonexistent/python\n")
    assert start(made) == (
        "vtrace: error: cannot start /nonexistent/python: No such file or directory (install vtrace again)\n"
    )
    (tmp_path / "bin" / "vtrace-python").unlink()
    assert start(made) == (
        "vtrace: error: cannot start Python, whose path is in vtrace-python: no such script (install vtrace again)\n"
    )


def test_python_of_vtrace() -> None:
    """vtrace-python is the Python that vtrace was installed for."""
    done = call([BIN / "vtrace-python", "-c", "import sys; print(sys.prefix, sys.argv[1:])", "a b"], Path.cwd())
    assert done.stdout == f"{sys.prefix} ['a b']\n"
