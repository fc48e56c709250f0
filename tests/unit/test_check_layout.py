# SPDX-License-Identifier: BSD-3-Clause
"""tools/check_layout.py finds each kind of fault planted into a copy of the project."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("layout")
    for name in ("src", "csrc", "tools", ".ci", "tests/support"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("_lib", "__pycache__"))
    for name in ("pyproject.toml", "CMakeLists.txt", "Makefile"):
        shutil.copy(ROOT / name, copy / name)
    return copy


def check(project: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, project / "tools" / "check_layout.py"]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_the_project_has_no_faults(project: Path) -> None:
    done = check(project)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


@pytest.mark.parametrize(
    ("file", "text", "fault"),
    [
        ("src/vtrace/text.py", "x = 1 \n", "spaces at the end of a line"),
        ("src/vtrace/text.py", 'x = "/ro' 'ot/x"\n', "a path of one machine"),
        ("src/vtrace/text.py", "x = 1  # TO" "DO\n", "a mark for unfinished work"),
        ("src/vtrace/text.py", "x = 1", "the last line must end with a newline"),
        ("csrc/core/text.c", '#include "iowrap.h"\n', "core must not include iowrap.h"),
        ("csrc/otf2_reader/events.c", '#include "core/location.h"\n', "otf2_reader must not include core/location.h"),
        ("csrc/core/buffer.c", '# include "process.h"\n', "must not include process.h, which is of a higher layer"),
        ("csrc/core/text.c", "#include <zstd.h>\n", "the runtime must not need this library's headers"),
        ("csrc/core/text.c", "void f(void)\n{\n" + "    ;\n" * 61 + "}\n", "a function of 61 lines"),
        ("csrc/core/text.c", "\tx\n", "a tab"),
        ("csrc/core/buffer.c", '#include "location.h"\n', "must not include location.h, which is of a higher layer"),
        ("csrc/core/settings.h", '#include "process.h"\n', "must not include process.h, which is of a higher layer"),
        ("csrc/core/new.c", "int x;\n", "new has no layer"),
    ],
)  # fmt: skip
def test_a_planted_fault_is_found(project: Path, file: str, text: str, fault: str) -> None:
    path = project / file
    before = path.read_text() if path.exists() else None
    path.parent.mkdir(exist_ok=True)
    path.write_text((before or "") + text)
    done = check(project)
    if before is None:
        path.unlink()
        if not [*path.parent.iterdir()]:
            path.parent.rmdir()
    else:
        path.write_text(before)
    assert done.returncode == 1
    assert [line for line in done.stdout.splitlines() if line.startswith(f"{file}: ") and fault in line]


def test_a_file_without_a_licence(project: Path) -> None:
    path = project / "src" / "vtrace" / "none.py"
    path.write_text("x = 1\n")
    done = check(project)
    path.unlink()
    assert "src/vtrace/none.py: the first line must name the licence" in done.stdout


def test_a_directory_without_sources(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "check_layout.py", tmp_path], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (2, f"{tmp_path}: no sources of vtrace\n")


def test_an_import_of_a_higher_layer(project: Path) -> None:
    path = project / "src" / "vtrace" / "io" / "local" / "heads.py"
    before = path.read_text()
    path.write_text(before + "import vtrace.io.archive.reader\n")
    words = [Path(sys.executable).with_name("lint-imports"), "--no-cache"]
    env = {**os.environ, "PYTHONPATH": str(project / "src")}
    done = subprocess.run(words, cwd=project, env=env, capture_output=True, text=True)
    path.write_text(before)
    assert done.returncode == 1
    assert "vtrace.io.local is not allowed to import vtrace.io.archive" in done.stdout
