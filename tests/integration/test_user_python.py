# SPDX-License-Identifier: BSD-3-Clause
"""Python programs: the module vtrace.user, and recorded functions."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.build.run import names, run, unify
from support.oracles.check import check
from support.oracles.user_api import defined, pair, story
from support.readers.archive import Trace
from support.tools import PROGRAMS, call, command, need
from vtrace.paths import LIB, PYTHON_HOOK

PRELOAD = {"LD_PRELOAD": str(LIB / "libvtrace.so.1"), "VT_FILE_PREFIX": "py"}
HOOK = {**PRELOAD, "VT_PYTRACE": "yes", "PYTHONPATH": str(PYTHON_HOOK)}


def _pythons() -> dict[str, str]:
    """One interpreter of each version: this one, and those in PATH, of pyenv and next to this one."""
    found: dict[str, str] = {}
    shared = glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3"))
    shared += sorted(map(str, Path(sys.base_prefix).parent.glob("*/bin/python3")))
    for path in [sys.executable, *filter(None, (shutil.which(f"python3.{n}") for n in range(9, 15))), *shared]:
        code = "import sys; print('%d.%d' % sys.version_info[:2], sys.implementation.name)"
        done = subprocess.run([path, "-c", code], capture_output=True, text=True)
        version, _, kind = done.stdout.strip().partition(" ")
        if not done.returncode and kind == "cpython" and tuple(map(int, version.split("."))) >= (3, 9):
            found.setdefault(version, path)
    return dict(sorted(found.items(), key=lambda item: int(item[0].partition(".")[2])))


PYTHONS = _pythons()
_MISSING = pytest.mark.skip("no Python 3.12 or newer is in PATH or ~/.pyenv, and Debian 12 has no package of one")


def _monitors(version: str) -> bool:
    """True if a Python of this version has sys.monitoring."""
    return int(version.partition(".")[2]) >= 12


def record(place: Path, *words: str | Path, env: dict[str, str]) -> Trace:
    place.mkdir(exist_ok=True)
    call(words, place, env)
    unify(place, "py")
    return check(place / "py.trace")


@pytest.fixture(params=[*PYTHONS, *([] if any(map(_monitors, PYTHONS)) else [pytest.param("3.12", marks=_MISSING)])])
def python(request: pytest.FixtureRequest) -> str:
    return PYTHONS[request.param]


def test_interface_of_the_interpreter(tmp_path: Path, python: str) -> None:
    """The hook uses sys.monitoring if the interpreter has it, else a profile function that the program does not see."""
    code = (
        "import sys; tools = getattr(sys, 'monitoring', None); "
        "print(sys.getprofile(), tools and [tools.get_tool(number) for number in range(6)])"
    )
    version = next(version for version, path in PYTHONS.items() if path == python)
    tools = [*[None] * 5, "vtrace"] if _monitors(version) else None
    assert call([python, "-c", code], tmp_path, HOOK).stdout == f"None {tools}\n"


def test_user_module(tmp_path: Path) -> None:
    trace = record(tmp_path, sys.executable, PROGRAMS / "user.py", env=PRELOAD)
    steps = ["+step", "0=0", "1=0.5", "-step", "+step", "0=-1", "1=1.5", "-step"]
    messages = ["MpiSend queue 0 5 80", "MpiSend User messages 0 6 90", "MpiRecv queue 0 5 80",
                "MpiRecv User messages 0 6 90"]  # fmt: skip
    assert story(trace) == [*steps, *["+solve"] * 3, *["-solve"] * 3, *pair("__main__.fails"), *messages, "OFF", "ON",
                            "BufferFlush", "OFF", "ON"]  # fmt: skip
    assert [(m.category, m.text) for m in trace.markers] == [
        ("breaks", "it broke"), ("comment", "half way"), ("steps", "it went")
    ]  # fmt: skip
    found = defined(trace.path)
    assert [metric[:3] for metric in found.metrics] == [("level", "m", "INT64"), ("heat", "K", "DOUBLE")]
    assert found.groups == {
        "phases": ("REGIONS", ["step"]), "weather": ("METRIC", ["level"]), "User": ("METRIC", ["heat"])
    }  # fmt: skip
    step, lines = trace.region("step"), (PROGRAMS / "user.py").read_text().splitlines()
    assert (step.file, step.paradigm) == (str(PROGRAMS / "user.py"), "USER")
    assert 'region("step"' in lines[step.line - 1]


def test_user_module_untraced(tmp_path: Path) -> None:
    done = run(Path(sys.executable), tmp_path, PROGRAMS / "user.py")
    assert done.stdout == "True False\nsolve Calls itself.\n"
    code = ("import sys; from vtrace.user import region\ndef f(): pass\n"
            "assert region(f) is f and region('x')(f) is f; print('ctypes' in sys.modules)")  # fmt: skip
    assert run(Path(sys.executable), tmp_path, "-c", code).stdout == "False\n"
    assert names(tmp_path) == set()


def own(trace: Trace, location: int = 0) -> list[str]:
    """The events of the functions in __main__."""
    mine = [told for told in story(trace, location) if "__main__." in told]
    return [told.replace("__main__.", "").replace("Solver.", "") for told in mine]


def test_functions(tmp_path: Path, python: str) -> None:
    call([python, PROGRAMS / "functions.py"], tmp_path, HOOK)
    assert "warning" not in unify(tmp_path, "py").stderr
    trace = check(tmp_path / "py.trace")
    facts = [*["+factorial"] * 3, *["-factorial"] * 3]
    generators = [*pair("counts", 3), *pair("closed", 2)]
    fails = ["+passes_on", "+fails", "-fails", "-passes_on"]
    inner = [*pair("Solver"), "+main", *facts, *generators, *fails, "-main"]
    assert own(trace) == ["+<module>", *inner, "-<module>"]
    assert own(trace, 1) == [*["+factorial"] * 2, *["-factorial"] * 2]
    region = next(r for r in trace.regions.values() if r.name.endswith("passes_on"))
    assert (region.file, region.paradigm, region.role) == (str(PROGRAMS / "functions.py"), "COMPILER", "FUNCTION")
    assert "def passes_on" in (PROGRAMS / "functions.py").read_text().splitlines()[region.line - 1]


def test_virtual_environment_module_and_sitecustomize(tmp_path: Path) -> None:
    """Functions are recorded in a virtual environment, with -m, and with the program's own sitecustomize."""
    call([sys.executable, "-m", "venv", "--without-pip", "v"], tmp_path)
    (site,) = (tmp_path / "v" / "lib").glob("python3*/site-packages")
    (site / "sitecustomize.py").write_text("import sys\nsys.customized = True\n")
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__main__.py").write_text(
        "import sys\ndef work():\n    print(sys.customized, str(sys.path).count('python_hook'))\nwork()\n"
    )
    (package / "__init__.py").write_text("")
    done = call([tmp_path / "v" / "bin" / "python", "-m", "pkg"], tmp_path, HOOK)
    assert done.stdout == "True 0\n"
    unify(tmp_path, "py")
    trace = check(tmp_path / "py.trace")
    assert own(trace) == ["+<module>", "+work", "-work", "-<module>"]
    # The program's own sitecustomize is recorded, the functions of vtrace's hook that imports it are not.
    assert [calls for name, calls in trace.calls().items() if name.startswith("sitecustomize.")] == [1]


def test_off_by_default(tmp_path: Path) -> None:
    """Without VT_PYTRACE, or without the runtime, the hook records nothing."""
    for number, env in enumerate(({**HOOK, "VT_PYTRACE": "no"}, {"VT_PYTRACE": "yes", "PYTHONPATH": str(PYTHON_HOOK)})):
        place = tmp_path / str(number)
        place.mkdir()
        done = call([sys.executable, PROGRAMS / "functions.py"], place, env)
        assert done.stdout == "closed\n"
        if number == 0:
            unify(place, "py")
            assert own(check(place / "py.trace")) == []
        else:
            assert names(place) == set()


def test_hidden_by_a_filter(tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("*.factorial;threading.*;*.Solver.fails -- 0\n")
    trace = record(tmp_path, sys.executable, PROGRAMS / "functions.py", env={**HOOK, "VT_FILTER_SPEC": "rules"})
    calls = {told[1:] for told in own(trace)}
    assert calls == {"<module>", "Solver", "main", "counts", "closed", "passes_on"}
    assert not any("threading." in told for told in story(trace))


def test_vtrace_run(tmp_path: Path) -> None:
    words = [*command("vtrace"), "run", "--python", sys.executable, PROGRAMS / "functions.py"]
    call(words, tmp_path)
    unify(tmp_path, "functions")
    trace = check(tmp_path / "functions.trace")
    assert own(trace)[:3] == ["+<module>", "+Solver", "-Solver"]
    deaf = call([*words[:3], sys.executable, "-I", words[-1]], tmp_path)
    assert "Python functions are not recorded" in deaf.stderr


def test_with_mpi4py(tmp_path: Path) -> None:
    """Functions, MPI calls and regions of vtrace.user are nested in one location."""
    pytest.importorskip("mpi4py")
    (tmp_path / "ring.py").write_text(
        "from mpi4py import MPI\nfrom vtrace.user import region\n\ndef step(comm):\n    with region('exchange'):\n"
        "        comm.Barrier()\n\nfor _ in range(3):\n    step(MPI.COMM_WORLD)\n"
    )
    run_ = [*command("vtrace"), "run", "--python", need("mpiexec"), "-n", "2", sys.executable, "ring.py"]
    call(run_, tmp_path)
    unify(tmp_path, "ring")
    trace = check(tmp_path / "ring.trace")
    for rank in (0, 1):
        edges = trace.edges(rank)
        assert edges["__main__.step", "exchange"] == 3
        assert edges["exchange", "MPI_Barrier"] == 3
