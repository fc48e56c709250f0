# SPDX-License-Identifier: BSD-3-Clause
"""tools/release_check.py: the commits that it accepts, in a small repository whose make targets do nothing."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from support.tools import ROOT, call, need

MAKEFILE = """
.PHONY: lint docs bench
lint: ; true
docs: ; echo broken link >&2; exit 3
bench: ; cp rows.json $(word 2,$(BENCH)); echo $(BENCH)
"""
ROWS = [
    {"what": "a call", "unit": "ns", "measured": 12.5, "bar": "<= 10 ns", "held": False},
    {"what": "a start", "unit": "ms", "measured": 2.0, "bar": "<= 5 ms", "held": True},
]
DATED = "# Changelog\n\n## 0.3.0 (2031-02-03)\n"
OLDER = "\n## 0.2.0 (2030-01-01)\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a version, make targets and a copy of the tool."""
    place = tmp_path_factory.mktemp("release") / "project"
    (place / "tools").mkdir(parents=True)
    (place / "src" / "vtrace").mkdir(parents=True)
    (place / "docs").mkdir()
    (place / "docs" / "performance.md").write_text("# Performance\n")
    shutil.copy(ROOT / "tools" / "release_check.py", place / "tools")
    (place / "src" / "vtrace" / "__init__.py").write_text('__version__ = "0.3.0"\n')
    (place / "Makefile").write_text(MAKEFILE)
    (place / "rows.json").write_text(json.dumps(ROWS))
    call([need("git"), "init", "-q"], place)
    return place


def checked(project: Path, changelog: str, *words: str, cited: str = "0.3.0") -> tuple[int, str]:
    """Exit code and output of the check for a commit with this changelog."""
    (project / "CHANGELOG.md").write_text(changelog)
    (project / "CITATION.cff").write_text(f"version: {cited}\n")
    call(["git", "add", "."], project)
    call(["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all", "--allow-empty"], project)
    scratch = {"TMPDIR": str(project.parent)}
    done = call([sys.executable, project / "tools" / "release_check.py", *words], project, scratch, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("changelog", "cited", "said"),
    [
        (DATED, "0.3.0", "ok"),
        (DATED.replace("2031-02-03", "unreleased"), "0.3.0", "begins with 0.3.0 (unreleased), not 0.3.0 (a date)"),
        (OLDER, "0.3.0", "begins with 0.2.0 (2030-01-01), not 0.3.0 (a date)"),
        (DATED.replace("0.3.0", "0.4.0"), "0.3.0", "begins with 0.4.0 (2031-02-03), not 0.3.0 (a date)"),
        (DATED, "0.2.0", "CITATION.cff has another version than 0.3.0"),
    ],
)
def test_changelog(project: Path, changelog: str, cited: str, said: str) -> None:
    code, shown = checked(project, changelog, "--only", "changelog", cited=cited)
    assert (code, said in shown) == (0 if said == "ok" else 1, True), shown


def test_a_failed_step(project: Path) -> None:
    """The other steps run, the exit code is 1, and the log has the step's output."""
    code, shown = checked(project, DATED, "--only", "lint", "--only", "docs", "--only", "changelog")
    verdicts = [line.split()[:2] for line in shown.splitlines()]
    assert (code, verdicts[:3]) == (1, [["lint", "ok"], ["docs", "FAILED"], ["changelog", "ok"]])
    line = next(line for line in shown.splitlines() if line.startswith("docs"))
    assert "broken link" in Path(line.rpartition("; see ")[2]).read_text()


@pytest.mark.parametrize(
    ("told", "words", "said"),
    [
        ("", (), "FAILED 1 of 2 rows miss their bar without a reason: a call: 12.5 ns, not <= 10 ns"),
        ("- `a call`: \n", (), "FAILED 1 of 2 rows miss their bar without a reason"),
        (
            "- `a call`: two loads\n",
            (),
            "ok 1 of 2 rows miss their bar, all with a reason; a call: 12.5 ns, not <= 10 ns",
        ),
        ("- `a call`: x\n- `a fork`: y\n", (), "FAILED docs/performance.md has reasons for rows that make bench lacks"),
        ("- `a call`: x\n- `a fork`: y\n", ("--bench", "-n 1"), "ok only -n 1; 1 of 2 rows miss"),
    ],
)
def test_figures(project: Path, told: str, words: tuple[str, ...], said: str) -> None:
    """A row that misses its bar needs a reason in the section "Missed bars", not in another one."""
    page = f"# Performance\n\n## Table\n\n- `a call`: fast\n\n## Missed bars\n\n{told}\n## More\n\n- `a call`: x\n"
    (project / "docs" / "performance.md").write_text(page)
    code, shown = checked(project, DATED, "--only", "figures", *words)
    (project / "docs" / "performance.md").write_text("# Performance\n")
    kept = " ".join(word for place, word in enumerate(shown.split()[1:]) if place not in (1, 2))  # without the time
    assert kept.startswith(said)
    assert code == ("FAILED" in said)


def test_a_release(project: Path) -> None:
    """All steps pass, each with its line."""
    (project / "Makefile").write_text(MAKEFILE.replace("echo broken link >&2; exit 3", "true"))
    (project / "rows.json").write_text(json.dumps([row | {"held": True} for row in ROWS]))
    steps = ("changelog", "lint", "docs", "figures")
    code, shown = checked(project, DATED, *(f"--only={name}" for name in steps))
    words = {line.split()[0]: line.split() for line in shown.splitlines()}
    assert (code, {name: words[name][1] for name in steps}) == (0, dict.fromkeys(steps, "ok"))
    assert words["changelog"][-1] == "0.3.0"
    assert " ".join(words["figures"][4:]) == "all 2 rows keep their bar"
