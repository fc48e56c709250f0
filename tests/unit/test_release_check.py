# SPDX-License-Identifier: BSD-3-Clause
"""tools/release_check.py on a small repository, whose make targets succeed or fail."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.tools import ROOT, need

GOOD = {
    "src/vtrace/__init__.py": '__version__ = "1.2.3"\n',
    "CHANGELOG.md": "# Changelog\n\n## 1.2.3 (2026-11-27)\n\n## 1.2.2 (2026-01-01)\n",
    "CITATION.cff": "version: 1.2.3\n",
    "Makefile": "lint:\n\t@echo checked\ndocs:\n\t@true\nbench:\n\t@echo all rows hold\n",
}


def released(where: Path, *only: str, **changed: str) -> tuple[int, dict[str, list[str]]]:
    """The exit code for a repository with changed files, and the words of each step's line."""
    for name, text in (
        GOOD | {name.replace("__", "/").replace("_", "."): text for name, text in changed.items()}
    ).items():
        (where / name).parent.mkdir(parents=True, exist_ok=True)
        (where / name).write_text(text)
    (where / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "release_check.py", where / "tools")
    git = [need("git"), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], cwd=where, check=True)
    words = [sys.executable, where / "tools" / "release_check.py", *(f"--only={name}" for name in only)]
    done = subprocess.run(
        words, capture_output=True, text=True, env={"PATH": f"{Path(need('make')).parent}", "TMPDIR": str(where)}
    )
    return done.returncode, {line.split()[0]: line.split() for line in done.stdout.splitlines()}


def test_a_release(tmp_path: Path) -> None:
    code, steps = released(tmp_path, "changelog", "lint", "docs", "figures")
    assert code == 0
    assert {name: words[1] for name, words in steps.items()} == dict.fromkeys(
        ("changelog", "lint", "docs", "figures"), "ok"
    )
    assert steps["changelog"][-1] == "1.2.3"


@pytest.mark.parametrize(
    ("step", "file", "text", "said"),
    [
        ("changelog", "CHANGELOG_md", "# Changelog\n\n## 1.2.3 (unreleased)\n", "(unreleased),"),
        ("changelog", "CHANGELOG_md", "# Changelog\n\n## 1.2.4 (2026-11-27)\n", "1.2.4"),
        ("changelog", "CITATION_cff", "version: 1.2.2\n", "CITATION.cff"),
        ("lint", "Makefile", "lint:\n\t@exit 1\n", "lint:"),
        ("docs", "Makefile", "lint:\n\t@true\n", "docs:"),
        ("figures", "Makefile", "bench:\n\t@echo one row missed\n", "miss"),
    ],
)
def test_a_fault(tmp_path: Path, step: str, file: str, text: str, said: str) -> None:
    code, steps = released(tmp_path, step, **{file: text})
    assert (code, steps[step][1]) == (1, "FAILED")
    assert said in steps[step]
