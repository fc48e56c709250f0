# SPDX-License-Identifier: BSD-3-Clause
"""tools/compare_builds.py records a corpus, describes two builds, and finds a difference that is planted in one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import click
import pytest

from support.shell_commands import shell_commands
from support.tools import BIN, ROOT, Done, call, need
from vtrace import cli

TOOL = ROOT / "tools" / "compare_builds.py"
RUN = "integration-test_names-py-test_without_compression-*"


def tool(cwd: Path, *words: str | Path, path: str | None = None) -> Done:
    env = {"TMPDIR": str(cwd)} | ({"PATH": path} if path else {})
    return call([sys.executable, TOOL, *words], cwd, env, check=False)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The local files of one test, which the plug-in has copied."""
    need("otf2-print")
    made = tmp_path_factory.mktemp("compare") / "corpus"
    tests = "tests/integration/test_names.py::test_without_compression"
    words = [sys.executable, "-m", "pytest", "-q", "-p", "compare_builds", "-p", "no:cacheprovider", tests]
    call(words, ROOT, {"PYTHONPATH": f"{ROOT / 'tests'}{os.pathsep}{ROOT / 'tools'}", "CORPUS": str(made)})
    (run,) = made.iterdir()
    assert (run / "words.json").read_text()
    return made


@pytest.fixture(scope="module")
def build(corpus: Path) -> Iterator[Path]:
    """The directory of a build's commands, which run in forked processes."""
    with shell_commands(corpus.parent) as scripts:
        for name in ("vtunify-mpi", "python"):
            script(scripts / name, f'exec "{BIN / name}" "$@"')
        yield scripts


@pytest.fixture(scope="module")
def old(corpus: Path, build: Path) -> Path:
    done = tool(corpus.parent, "describe", corpus, build, "old", "--only", RUN)
    assert (done.returncode, done.stderr) == (0, ""), str(done)
    return corpus.parent / "old"


def test_description(old: Path) -> None:
    """The description has all commands on the run."""
    (run,) = old.glob(f"{RUN}.txt")
    text = run.read_text()
    for words in (
        "dump many --json",
        "vtunify -k many",
        "summary u_many.trace --csv",
        "diff u_many.trace u_many.trace",
    ):
        assert f"{words}\nexit code 0\n" in text


def test_planted_difference(corpus: Path, build: Path, old: Path, tmp_path: Path) -> None:
    """A second description of the build differs only in the file that its vtrace summary is made to print."""
    place = tmp_path / "bin"
    place.mkdir()
    for name in ("vtunify", "vtunify-mpi", "vtrace-cc", "vtrace-cxx", "vtrace-fc", "python"):
        script(place / name, f'exec "{build / name}" "$@"')
    real = f'"{build / "vtrace"}" "$@"'
    script(place / "vtrace", f"[ $1 = summary ] || exec {real}\n{real} | sed s/many.c:/other.c:/")
    assert tool(corpus.parent, "describe", corpus, place, "new", "--only", RUN).returncode == 0
    done = tool(corpus.parent, "compare", "old", "new")
    (name,) = (path.name for path in old.glob(f"{RUN}.txt"))
    assert done.returncode == 1
    assert done.stdout.endswith(" texts compared, 1 differences\n")
    assert f"+++ new/{name}" in done.stdout
    signs = {word: {line[0] for line in done.stdout.splitlines() if word in line} for word in ("many.c:", "other.c:")}
    assert signs == {"many.c:": {"-"}, "other.c:": {"+"}}
    assert (corpus.parent / "new" / name).read_text().replace("other.c:", "many.c:") == (old / name).read_text()


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("code", "said"),
    [(0, ""), (1, "error"), (2, "wrong call"), (4, "change"), (8, "incompatible change"),
     (12, "change, incompatible change"), (3, "error, wrong call")],
)  # fmt: skip
def test_bits_of_abidiff(tmp_path: Path, code: int, said: str) -> None:
    """Each bit of the exit code of abidiff counts as a difference, and is named."""
    for place in ("old", "new"):
        (tmp_path / place / "libraries").mkdir(parents=True)
        (tmp_path / place / "libraries" / "libx.so").touch()
    (tmp_path / "bin").mkdir()
    script(tmp_path / "bin" / "abidiff", f"echo looked; exit {code}")
    done = tool(tmp_path, "compare", "old", "new", path=f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    assert (done.returncode, done.stderr) == (bool(code), "")
    assert done.stdout.endswith(f"0 texts compared, {int(bool(code))} differences\n")
    assert (f"libx.so: abidiff: {said}\nlooked\n" in done.stdout) == bool(code)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("describe", "nowhere", BIN, "x"), "nowhere: no such directory"),
        (("describe", ".", BIN, "x"), ".: no recorded runs"),
        (("describe", ".", ".", "x"), "no command vtrace"),
        (("compare", "nowhere", "."), "nowhere: no description of a build"),
        (("bench", "a.json", "b.json"), "a.json: no such file"),
    ],
)
def test_mistakes(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    """One line on standard error, exit code 2, and no file."""
    done = tool(tmp_path, *words)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), str(done)
    assert done.stderr.startswith("compare_builds.py: error: ")
    assert said in done.stderr
    assert not list(tmp_path.iterdir())


def test_each_command_with_json_or_csv_is_called() -> None:
    """A sub-command with one of these options is described with each of them, and without."""
    spec = spec_from_file_location("compare_builds", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = module_from_spec(spec)
    spec.loader.exec_module(module)
    called = [*module.COMMANDS, *module.OF_FILES, *module.OF_BUILD]
    context = click.Context(cli.command)
    options = {"--json", "--csv"}
    wanted = set()
    for name in cli.command.list_commands(context):
        command = cli.command.get_command(context, name)
        assert command is not None
        own = options & {text for parameter in command.params for text in parameter.opts}
        wanted |= {(name, option) for option in own} | ({(name, "")} if own else set())
    assert len(wanted) >= 17
    found = {(words[0], next((word for word in words if word in options), "")) for words in called}
    assert wanted <= found
