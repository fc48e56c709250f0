# SPDX-License-Identifier: BSD-3-Clause
"""vtrace run of a program that finds its libraries by $ORIGIN, and that symbolic links lead to: java, conda, modules,
update-alternatives."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.build.run import names, vtrace
from support.oracles.check import check
from support.tools import call, command, need

LIBRARY = "int in_lib(void) { return 42; }\n"
PROGRAM = """#include <unistd.h>
int in_lib(void);
int main(void) { return write(1, "ok\\n", 3) != 3 || in_lib() != 42; }
"""

MPI_PROGRAM = """#include <mpi.h>
int in_lib(void);
int main(int c, char **v) { MPI_Init(&c, &v); MPI_Barrier(MPI_COMM_WORLD); return MPI_Finalize() || in_lib() != 42; }
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """opt/bin/m, a program with RUNPATH $ORIGIN/../lib; links to it in bin."""
    for place in ("opt/bin", "opt/lib", "bin"):
        (tmp_path / place).mkdir(parents=True)
    (tmp_path / "lib.c").write_text(LIBRARY)
    (tmp_path / "m.c").write_text(PROGRAM)
    call([need("gcc"), "-shared", "-fPIC", "lib.c", "-o", "opt/lib/libhere.so"], tmp_path)
    words = ["m.c", "-o", "opt/bin/m", "-Lopt/lib", "-lhere", "-Wl,-rpath,$ORIGIN/../lib"]
    call([need("gcc"), *words], tmp_path)
    (tmp_path / "bin" / "relative").symlink_to("../opt/bin/m")
    (tmp_path / "bin" / "absolute").symlink_to(tmp_path / "opt/bin/m")
    (tmp_path / "bin" / "chain").symlink_to("relative")
    (tmp_path / "way").symlink_to("bin")
    script = tmp_path / "by_chain"
    script.write_text(f"#!{tmp_path}/bin/chain\n")
    script.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("word", ["bin/absolute", "way/chain", "chain", "./by_chain"])
def test_links(installed: Path, word: str) -> None:
    """Links to the program, also in PATH, through a directory's link, and as a script's interpreter."""
    env = {"PATH": f"{installed}/bin:/usr/bin:/bin"}
    done = vtrace(installed, "run", "--io", "--unify", "-o", "t", word, env=env)
    assert done.stdout == "ok\n"
    assert check(installed / "t.trace").calls()["write"] == 1


def test_launcher(installed: Path) -> None:
    """mpiexec of links to an MPI program."""
    (installed / "mm.c").write_text(MPI_PROGRAM)
    words = ["mm.c", "-o", "opt/bin/mm", "-Lopt/lib", "-lhere", "-Wl,-rpath,$ORIGIN/../lib"]
    call([need("mpicc"), *words], installed)
    (installed / "bin" / "mm").symlink_to("../opt/bin/mm")
    vtrace(installed, "run", "--unify", "-o", "t", need("mpiexec"), "-n", "2", "bin/mm")
    assert check(installed / "t.trace").calls()["MPI_Barrier"] == 2


def test_a_library_is_missing(installed: Path) -> None:
    """The loader ends the program as without vtrace, and a line says that it is not recorded."""
    shutil.rmtree(installed / "opt" / "lib")
    plain = call(["bin/chain"], installed, check=False)
    done = call([*command("vtrace"), "run", "--no-unify", "--io", "bin/chain"], installed, check=False)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)
    mine, theirs = done.stderr.splitlines()
    assert "bin/chain is not recorded: " in mine
    assert mine.endswith("libhere.so: cannot open shared object file: No such file or directory")
    assert [theirs] == plain.stderr.splitlines()
    assert not {name for name in names(installed) if name.endswith(".uctl")}
