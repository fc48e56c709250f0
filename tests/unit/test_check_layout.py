# SPDX-License-Identifier: BSD-3-Clause
"""tools/check_layout.py finds each kind of fault planted into a copy of the project.

make lint starts a process, and so do the other tests. The test of planted faults calls the tool's main function in this
process, where the tool remembers the contents of the files without a fault."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("layout")
    for name in ("src", "csrc", "tools", ".ci", "tests/support"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("_lib", "__pycache__"))
    (copy / "docs").mkdir()
    for name in ("pyproject.toml", "CMakeLists.txt", "Makefile", "docs/architecture.md"):
        shutil.copy(ROOT / name, copy / name)
    return copy


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """tools/check_layout.py as a module."""
    spec = importlib.util.spec_from_file_location("check_layout", ROOT / "tools" / "check_layout.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def check(project: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, project / "tools" / "check_layout.py"]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_the_project_has_no_faults(project: Path) -> None:
    done = check(project)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


@pytest.mark.parametrize(
    ("file", "text", "fault"),
    [
        ("src/vtrace/io/local/heads.py", "import vtrace.io.archive.reader\n", "io.local must not use io.archive"),
        ("src/vtrace/unify/model/process.py", "from vtrace.unify import run\n", "unify.model must not use unify"),
        ("src/vtrace/analysis/table.py", "def f():\n    from vtrace.io.local.records import X\n",
         "analysis must not use io.local"),
        ("src/vtrace/analysis/scan.py", "from vtrace.analysis.questions import sums\n",
         "analysis must not use analysis.questions"),
        ("src/vtrace/analysis/questions/sums.py", "from vtrace.analysis.trace import Trace\n",
         "analysis.questions must not use analysis.trace"),
        ("src/vtrace/unify/run.py", "import mpi4py.MPI\n", "only parallel knows mpi4py"),
        ("src/vtrace/unify/run.py", "from . import tables\n", "a relative import"),
        ("src/vtrace/unify/run.py", "from vtrace.unify.merge import dedup\n",
         "unify must not use unify.merge.dedup, which is inside of a phase"),
        ("src/vtrace/commands/dump.py", "from vtrace.unify.discover.share import share_buffers\n",
         "commands must not use unify.discover.share, which is inside of a phase"),
        ("src/vtrace/new/__init__.py", "x = 1\n", "new has no layer"),
        ("src/vtrace/unify/scan.py", "# SPDX-License-Identifier: BSD-3-Clause\n", "analysis/scan.py has the same name"),
        ("src/vtrace/unify/run.py", "class Table:\n    pass\n", "analysis/table.py has a class Table, too"),
        ("src/vtrace/commands/dump.py", "class Table:\n    pass\n", "analysis/table.py has a class Table, too"),
        ("src/vtrace/unify/run.py", "class _Table:\n    pass\n", "analysis/table.py has a class _Table, too"),
        ("src/vtrace/commands/stale.py", "class Table:\n    pass\n", "analysis/table.py has a class Table, too"),
        ("src/vtrace/unify/run.py", "Array = list[int]\n", "io/common/arrays.py has a type Array, too"),
        ("src/vtrace/unify/run.py", "if True:\n    Array: Any = int\n", "io/common/arrays.py has a type Array, too"),
        ("src/vtrace/unify/run.py", 'Table = TypeVar("Table")\n', "analysis/table.py has a class Table, too"),
        ("src/vtrace/user.py", "class Array:\n    pass\n", "io/common/arrays.py has a type Array, too"),
        ("tests/support/users/archives.py", "# SPDX-License-Identifier: BSD-3-Clause\n",
         "tests/support/synthetic_runs/archives.py has the same name"),
        ("tests/support/users/terminal.py", "class Foreign:\n    pass\n",
         "synthetic_runs/archives.py has a class Foreign, too"),
        ("src/vtrace/text.py", "x = 1 \n", "spaces at the end of a line"),
        ("src/vtrace/text.py", "x = 1\n" * 500, "lines, at most 500"),
        ("src/vtrace/text.py", "def f():\n" + "    x = 1\n" * 60, "f has 61 lines, at most 60"),
        ("src/vtrace/text.py", 'x = "/ro' 'ot/x"\n', "a path of one machine"),
        ("src/vtrace/text.py", "x = 1  # TO" "DO\n", "a mark for unfinished work"),
        ("src/vtrace/text.py", "x = 1", "the last line must end with a newline"),
        ("csrc/core/text.c", '#include "iowrap.h"\n', "core must not include iowrap.h"),
        ("csrc/otf2_reader/events.c", '#include "core/replay.h"\n', "otf2_reader must not include core/replay.h"),
        ("csrc/core/buffer.c", '# include "process.h"\n', "must not include process.h, which is of a higher layer"),
        ("csrc/core/text.c", "#include <zstd.h>\n", "the runtime must not need this library's headers"),
        ("csrc/core/text.c", "void f(void)\n{\n" + "    ;\n" * 61 + "}\n", "a function of 61 lines"),
        ("csrc/core/text.c", "\tx\n", "a tab"),
        ("csrc/core/buffer.c", '#include "location.h"\n', "must not include location.h, which is of a higher layer"),
        ("csrc/core/clock.h", '#include "process.h"\n', "must not include process.h, which is of a higher layer"),
        ("csrc/core/location.c", "static void f(void) { vt_end(); }\n", "must not use vt_end of end.c, a higher layer"),
        ("csrc/core/buffer.h", "static inline void f(void) { vt_end(); }\n", "must not use vt_end of end.c"),
        ("csrc/core/stop.c", "static void *f(void) { return vt_filter_maps; }\n", "vt_filter_maps of filter_map.c"),
        ("csrc/core/new.c", "int x;\n", "new has no layer"),
        ("csrc/otf2_reader/text.c", "/* SPDX-License-Identifier: BSD-3-Clause */\n", "core/text.c has the same name"),
        ("csrc/iowrap/handle.h", "struct vt_location {\n};\n", "location.h has a struct vt_location, too"),
        ("csrc/iowrap/handle.h", "struct location {\n};\n", "location.h has a struct location, too"),
        ("csrc/userwrap/values.c", "enum setting_type { A };\n", "core/settings.c has an enum setting_type, too"),
        ("csrc/userwrap/values.c", "union thread_function { int x; };\n", "create.c has a union thread_function"),
        ("csrc/userwrap/values.c", "typedef struct { int x; } jump;\n", "landing.c has a typedef jump, too"),
        ("csrc/userwrap/values.c", "typedef int gomp_call(void);\n", "ompwrap/gomp.h has a typedef gomp_call, too"),
        ("csrc/userwrap/values.c", "typedef int (*lookup)(int x);\n", "ompwrap/ompt.c has a typedef lookup, too"),
    ],
)  # fmt: skip
def test_a_planted_fault_is_found(
    tool: ModuleType, project: Path, capsys: pytest.CaptureFixture[str], file: str, text: str, fault: str
) -> None:
    path = project / file
    before = path.read_text() if path.exists() else None
    path.parent.mkdir(exist_ok=True)
    path.write_text((before or "") + text)
    code = tool.main([str(project)])
    if before is None:
        path.unlink()
        if not [*path.parent.iterdir()]:
            path.parent.rmdir()
    else:
        path.write_text(before)
    assert code == 1
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith(f"{file}: ") and fault in line]


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [(", `csrc/procwrap`", "", "lacks csrc/procwrap"), ("`src/vtrace/symbols`", "", "lacks src/vtrace/symbols"),
     ("`csrc/kernels`", "`csrc/loops`", "lacks csrc/kernels"), ("`vfork`, ", "", "differs from CORE_LAYERS")],
)  # fmt: skip
def test_the_page_has_the_tables(project: Path, old: str, new: str, fault: str) -> None:
    path = project / "docs" / "architecture.md"
    before = path.read_text()
    path.write_text(before.replace(old, new))
    done = check(project)
    path.write_text(before)
    assert old in before
    assert fault in done.stdout


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
