# SPDX-License-Identifier: BSD-3-Clause
"""Programs that know nothing of vtrace do the same with the I/O shim preloaded as without, and their trace unifies."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.check import check
from support.iocalls import io_calls
from support.realprograms import PYTHON, SCRIPTS
from support.run import unify
from support.tools import Done, call, need
from vtrace import paths

PRELOAD = ":".join(str(paths.LIB / name) for name in ("libvtrace.so.1", "libvtrace-io.so"))


def _run(here: Path, words: list[str], env: dict[str, str]) -> tuple[Done, dict[str, bytes]]:
    here.mkdir()
    done = call(words, here, env=env, check=False)
    return done, {str(f.relative_to(here)): f.read_bytes() for f in here.rglob("*") if f.is_file()}


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in ("python", "bash", "git") else pytest.mark.full) for n in ("python", *SCRIPTS)],
)
def test_same_as_without(tmp_path: Path, name: str) -> None:
    words = [need("python3"), "-c", PYTHON] if name == "python" else [need("bash"), "-c", SCRIPTS[name]]
    for tool in () if name in ("python", "bash") else (name,):
        need(tool)
    local = tmp_path / "local"
    local.mkdir()
    env = {"VT_IOTRACE": "yes", "VT_VERBOSE": "0", "VT_MAX_FLUSHES": "0", "VT_FILE_PREFIX": "local"}
    env |= {"VT_PFORM_GDIR": str(local), "VT_PFORM_LDIR": str(local)}
    plain, files = _run(tmp_path / "plain", words, {})
    traced, same = _run(tmp_path / "traced", ["env", f"LD_PRELOAD={PRELOAD}", *words], env)
    assert plain.returncode == {"python": 5, "bash": 4, "gcc": 7, "perl": 5}.get(name, 0), str(plain)
    assert (traced.returncode, traced.stdout) == (plain.returncode, plain.stdout)
    assert traced.stderr == plain.stderr
    assert same == files
    unify(local, "local")
    trace = check(local / "local.trace", complete=False)
    assert any(io_calls(trace, location) for location in trace.locations)


def test_asan_program(tmp_path: Path) -> None:
    """ASan wants to be first; its option, which the documentation names, lets it work behind the shim."""
    (tmp_path / "a.c").write_text('#include <stdio.h>\nint main(void) { puts("fine"); return 3; }\n')
    call([need("gcc"), "-fsanitize=address", "a.c", "-o", "a"], tmp_path)
    words = ["env", f"LD_PRELOAD={PRELOAD}", "VT_IOTRACE=yes", "./a"]
    refused = call(words, tmp_path, check=False)
    assert "ASan runtime does not come first" in refused.stderr
    done = call(words, tmp_path, env={"ASAN_OPTIONS": "verify_asan_link_order=0"}, check=False)
    assert (done.returncode, done.stdout) == (3, "fine\n"), str(done)
    unify(tmp_path, "a")
    assert "puts w:stdout:5:5" in io_calls(check(tmp_path / "a.trace"))
