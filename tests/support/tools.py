# SPDX-License-Identifier: BSD-3-Clause
"""Calls of commands and tools. A missing tool skips the test, or fails it in CI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NoReturn

import pytest

from support.forked import BIN, run_forked

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "programs"


def unavailable(reason: str) -> NoReturn:
    """Skips the test with a reason. With CI set the test fails instead, because CI installs all tools."""
    if os.environ.get("CI"):
        pytest.fail(f"missing in CI: {reason}", pytrace=False)
    pytest.skip(reason)


def need(tool: str) -> str:
    """The path of a tool beside this Python, else in PATH."""
    found = shutil.which(tool, path=f"{BIN}{os.pathsep}{os.environ.get('PATH', os.defpath)}")
    if not found:
        unavailable(f"{tool} is not installed")
    return found


def need_sanitizer(compiler: str, runtime: str) -> str:
    """The path of a compiler that can link the run-time library ("asan", "tsan", "fuzzer" ...) of a sanitizer."""
    path = need(compiler)
    if "clang" in Path(compiler).name:
        # clang prints a directory that may be missing: on Debian a separate package has the directory.
        asked = subprocess.run([path, "-print-runtime-dir"], capture_output=True, text=True, check=True)
        if not list(Path(asked.stdout.strip()).glob(f"libclang_rt.{runtime}-*.a")):
            version = subprocess.run([path, "-dumpversion"], capture_output=True, text=True, check=True).stdout
            unavailable(
                f"{compiler} has no run-time library {runtime}: install libclang-rt-{version.split('.')[0]}-dev"
            )
    return path


def command(name: str) -> list[str]:
    """The words that start a command of vtrace: the installed command, else that of src/."""
    installed = BIN / name
    if installed.exists():
        return [str(installed)]
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r}); sys.argv[0] = {name!r}; "
        "from vtrace.entry import run; run()"
    )
    return [sys.executable, "-c", code]


def injected(place: Path, code: str) -> dict[str, str]:
    """The variable with which vtrace's commands run this code at their start; place: a new directory for the code."""
    place.mkdir()
    (place / "of_test.py").write_text(code)
    (place / "of_test.pth").write_text("import of_test\n")
    return {"VTRACE_PYTHONPATH": str(place)}


@cache
def urgent() -> tuple[str, ...]:
    """Words before the launcher of an MPI program that give the program more processor time than other tests get; none
    if this is not permitted. Ranks spin while they wait, so they waste their processors while a peer has none."""
    words = ("nice", "-n", "-10")
    tried = subprocess.run([*words, "nice"], capture_output=True, text=True)
    return words if tried.stdout.strip() == "-10" else ()


DEFAULTS = {"VT_PROCESSOR_WAIT": "yes", "VT_SAMPLE_RATE": ""}
"""The defaults of users, for tests that hold with them, too."""


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment without VT_ variables, with the Python's directory first in PATH, and extra.

    Sets VT_UNIFY=no, since most tests of vtrace run read the local files, or unify the files with options; and
    VT_PROCESSOR_WAIT=no, since the machine of the tests is busy: each run would wait for a processor elsewhere; and
    VT_SAMPLE_RATE=0, since the number of samples depends on the time."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("VT_")}
    env["PATH"] = f"{BIN}{os.pathsep}{env.get('PATH', os.defpath)}"
    env |= {"LC_ALL": "C.UTF-8", "VT_UNIFY": "no", "VT_PROCESSOR_WAIT": "no", "VT_SAMPLE_RATE": "0"}
    env.update(extra or {})
    return env


@dataclass(frozen=True)
class Done:
    """A command that has ended. returncode is negative if a signal ended the command."""

    words: Sequence[str]
    returncode: int
    stdout: str
    stderr: str

    def __str__(self) -> str:
        return (
            f"{' '.join(self.words)}\nexit code {self.returncode}\n-- stdout\n{self.stdout}\n-- stderr\n{self.stderr}"
        )


def call(
    words: Sequence[str | Path],
    cwd: Path,
    env: Mapping[str, str] | None = None,
    check: bool = True,
    timeout: float = 300,
    stdin: str | None = None,
) -> Done:
    """Runs a command. With check, an exit code other than 0 is an assertion error that shows the output."""
    texts = [str(word) for word in words]
    environ, given = environment(env), (stdin or "").encode()
    ended = run_forked(texts, Path(cwd), environ, environment(), timeout, given)
    if not ended:
        new = subprocess.run(texts, cwd=cwd, env=environ, capture_output=True, timeout=timeout, input=given)
        ended = (new.returncode, new.stdout, new.stderr)
    code, out, err = ended
    done = Done(texts, code, out.decode(errors="replace"), err.decode(errors="replace"))
    assert not check or done.returncode == 0, str(done)
    return done
