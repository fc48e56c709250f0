# SPDX-License-Identifier: BSD-3-Clause
"""vtrace doctor: the found and the missing tools, and the recorded functions of an MPI."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

from support.build import compilers
from support.build.builder import Builder
from support.build.mpis import Mpi, find
from support.build.run import vtrace
from support.tools import injected, need
from vtrace.wrappers.mpi_shim.installation import find_mpi
from vtrace.wrappers.mpi_shim.mpi_header import REMOVED, exported_symbols, prototypes

HIDE = """
from importlib import metadata
version = metadata.version
def hidden(name):
    if name == "mpi4py":
        raise metadata.PackageNotFoundError(name)
    return version(name)
metadata.version = hidden
"""


def look(cwd: Path, *args: str | Path, **env: str) -> dict[str, Any]:
    done = vtrace(cwd, "doctor", "--json", *args, env=env, check=False)
    told = json.loads(done.stdout)
    findings = {finding["name"]: finding for finding in told["findings"]}
    return findings | {"code": done.returncode, "verdict": told["verdict"]}


def test_coverage(mpi: Mpi, tmp_path: Path) -> None:
    """Every function that the MPI library has, in its header or not, is in exactly one list: recorded, plain, off or
    left out."""
    found = look(tmp_path, "--mpicc", mpi.mpicc)
    assert found["code"] == 0
    cover = found["MPI"]["more"]
    off = {name for names in cover["off"].values() for name in names}
    left_out = {name for names in cover["left_out"].values() for name in names}
    parts = [set(cover["records"]), set(cover["plain"]), off, left_out]
    installed = find_mpi(str(mpi.mpicc))
    assert installed is not None
    exported = exported_symbols(installed.library)
    declared = {n for n in prototypes(installed.preprocessed) if not n.startswith("P")}
    declared |= {n for n in prototypes(REMOVED) if not n.startswith("P") and {n, f"P{n}"} <= exported}
    assert set().union(*parts) == declared
    assert sum(map(len, parts)) == len(declared)
    assert {"MPI_Init", "MPI_Send", "MPI_Bcast", "MPI_Comm_spawn", "MPI_Put", "MPI_File_write"} <= parts[0]
    assert {"MPI_Type_size", "MPI_Info_create"} <= parts[1]
    assert {"MPI_Wtime", "MPI_T_init_thread", "MPI_Finalized"} <= off
    assert all("_FN" in n or "NULL" in n or n not in exported or f"P{n}" not in exported for n in left_out)
    text = vtrace(tmp_path, "doctor", "--mpicc", mpi.mpicc).stdout
    assert f"{len(parts[0])} with full records, {len(parts[1])} enter and leave" in text
    assert f"{len(cover['off']['tool'])} off by default: VT_MPI_GROUPS=default,tool" in text


def test_missing_tools(tmp_path: Path) -> None:
    """PATH has no compilers and mpicc does not exist: each problem is one line, and the exit code is 1."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "stat").symlink_to(need("stat"))
    done = vtrace(tmp_path, "doctor", "--mpicc", tools / "mpicc", env={"PATH": str(tools)}, check=False)
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == "not ready:"
    problems = [line for line in done.stdout.splitlines() if line.startswith(("error: ", "note: "))]
    assert "note: compilers: neither gcc nor clang in PATH: vtrace-cc needs one, vtrace run does not" in problems
    assert [
        line for line in problems if line.startswith(f"error: MPI: {tools / 'mpicc'}: no such MPI compiler command")
    ]
    assert not done.stderr
    # The mpicc beside Python exists, but its compiler does not.
    shown = vtrace(tmp_path, "doctor", env={"PATH": str(tools)}, check=False).stdout
    assert re.search(r"^MPI +no mpicc that can be used;|: MPI: no mpicc that can be used:", shown, re.MULTILINE)
    assert "in PATH" not in "".join(line for line in shown.splitlines() if "MPI" in line)


def test_places(tmp_path: Path) -> None:
    need("gcc")
    mpicc = shutil.which("mpicc") or need("mpicc")
    found = look(tmp_path, "--mpicc", mpicc, VT_PFORM_LDIR=str(tmp_path / "none"))
    assert found["code"] == 1
    assert found["buffer"]["problem"] == f"cannot write in {tmp_path / 'none'}; set VT_PFORM_LDIR to another directory"
    found = look(tmp_path, "--mpicc", mpicc, VT_PFORM_LDIR=str(tmp_path))
    assert found["code"] == 0
    notes = [name for name, finding in found.items() if name not in ("code", "verdict") and finding["problem"]]
    assert found["verdict"] == ("ready, but" if notes else "ready")
    done = vtrace(tmp_path, "doctor", "--mpicc", mpicc, env={"VT_PFORM_LDIR": str(tmp_path)})
    lines = done.stdout.splitlines()
    assert lines[0] == ("ready, but:" if notes else "ready")
    assert [line.split(": ")[1] for line in lines[1 : lines.index("")]] == notes
    assert found["buffer"]["value"].startswith(f"{tmp_path} (")
    assert all(
        found[name]["problem"] is None for name in ("vtrace", "runtime", "hooks", "libotf2", "libzstd", "compilers")
    )


def test_ways_to_record_functions(tmp_path: Path) -> None:
    """doctor names the way in which vtrace-cc records the functions of each compiler."""
    need("gcc")
    lines = look(tmp_path, "--mpicc", "none")["compilers"]["more"]["lines"]
    assert lines
    for line in lines:
        assert ("functions by sleds" in line) == compilers.SLEDS, line
        assert "functions by sleds" in line or "functions by hooks (" in line


def on_path(where: Path, mpiexec: Path) -> dict[str, str]:
    """An environment in which mpiexec is the given one."""
    where.mkdir()
    (where / "mpiexec").write_text(f'#!/bin/sh\nexec {mpiexec} "$@"\n')
    (where / "mpiexec").chmod(0o755)
    return {"PATH": f"{where}{os.pathsep}{os.environ['PATH']}"}


def test_mpi4py(mpi: Mpi, tmp_path: Path) -> None:
    """doctor starts mpi4py with the mpiexec in PATH, and names the family of the MPI library."""
    env = {"PATH": f"{Path(mpi.launch[0]).parent}{os.pathsep}{os.environ['PATH']}"}
    if mpi.name in ("mpich", "openmpi"):
        env = on_path(tmp_path / "bin", Path(mpi.launch[0]))
    found = look(tmp_path, "--mpicc", mpi.mpicc, **env)["mpi4py"]
    family = "Open MPI" if mpi.is_open else "MPICH"
    assert found["problem"] is None
    assert family in found["value"]
    assert found["value"].endswith(f" of {found['more']['mpiexec']}")


def test_mpi4py_of_another_mpi(build: Builder, tmp_path: Path) -> None:
    other = find("openmpi", build)
    installed = find_mpi(str(other.mpicc))
    assert installed is not None
    mpich = find("mpich-wheel", build)
    env = {
        "PATH": f"{Path(mpich.launch[0]).parent}{os.pathsep}{os.environ['PATH']}",
        "MPI4PY_LIBMPI": str(installed.library),
    }
    found = look(tmp_path, "--mpicc", mpich.mpicc, **env)
    assert found["code"] == 0
    problem = found["mpi4py"]["problem"]
    assert "mpi4py loads Open MPI" in problem
    assert "MPI4PY_LIBMPI=/path/libmpi.so" in problem


def test_no_mpi4py(tmp_path: Path) -> None:
    """mpi4py is not installed beside vtrace: doctor says what needs mpi4py and how to install it."""
    found = look(tmp_path, **injected(tmp_path / "hide", HIDE))
    assert found["mpi4py"]["value"] == "missing"
    assert found["mpi4py"]["problem"] == "vtunify-mpi needs mpi4py, vtunify does not: pip install 'vtrace-otf2[mpi]'"
