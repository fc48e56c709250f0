# SPDX-License-Identifier: BSD-3-Clause
"""Shell completion, with the requests that the scripts of bash, zsh and fish send."""

from __future__ import annotations

import shlex
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from support.synthetic_runs.local_files import Chunk, write_events
from support.tools import call, command, need
from vtrace import commands


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with local files of heat and of sim; its subdirectory bin has all commands."""
    for name in ("heat", "sim"):
        write_events(tmp_path / f"{name}.1.events.z", [Chunk()], prefix=name)
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / "bin").mkdir()
    for tool in ("vtrace", "vtunify", "vtunify-mpi"):
        target = tmp_path / "bin" / tool
        target.write_text(f'#!/bin/sh\nexec {shlex.join(command(tool))} "$@"\n')
        target.chmod(0o755)
    return tmp_path


COMMANDS = {
    name
    for _, name, _ in iter_modules(commands.__path__)
    if hasattr(import_module(f"vtrace.commands.{name}"), "command") and not name.startswith("vtunify")
}
"""The commands of vtrace, from the modules of vtrace.commands."""
CASES = [
    (("vtrace", ""), COMMANDS),
    (("vtrace", "d"), {"demo", "diagnose", "diff", "doctor", "dump"}),
    (("vtrace", "shim", ""), {"build", "list", "clean"}),
    (("vtrace", "completion", "b"), {"bash"}),
    (("vtrace", "run", "--no-m"), {"--no-mpi", "--no-memory"}),
    (("vtrace", "dump", "heat", "--only", "coll_"), {"coll_begin", "coll_end", "coll_request", "coll_complete"}),
    (("vtrace", "dump", "h"), {"heat"}),
    (("vtrace", "info", "--j"), {"--json"}),
    (("vtrace", "run", "--m"), {"--mpi", "--memory"}),
    (("vtrace", "run", "--lo"), {"--locks"}),
    (("vtrace", "summary", "heat", "--only", "c"), {"classes", "collectives", "counters", "coverage"}),
    (("vtrace", "nothing"), set()),
    (("vtunify", ""), {"heat", "sim"}),
    (("vtunify", "--keeplocal", "s"), {"sim"}),
    (("vtunify-mpi", "s"), {"sim"}),
    (("vtunify", "--keep"), {"--keeplocal"}),
    (("vtunify", "heat", "--"), {
        "--keeplocal", "--progress", "--quiet", "--verbose", "--force", "--partial", "--salvage", "--also",
        "--samples", "--no-repair", "--packed", "--help",
    }),
]  # fmt: skip


@pytest.mark.parametrize(
    ("shell", "words", "offered"),
    [("bash", *case) for case in CASES] + [(shell, *case) for shell in ("zsh", "fish") for case in CASES[::4]],
)
def test_completions_in_each_shell(place: Path, shell: str, words: tuple[str, ...], offered: set[str]) -> None:
    """A request in the form of the shell's script. Each offered value is on its own line or before a tab."""
    at = words[-1] if shell == "fish" else str(len(words) - 1)
    variable = f"_{words[0].upper().replace('-', '_')}_COMPLETE"
    env = {variable: f"{shell}_complete", "COMP_WORDS": " ".join(words), "COMP_CWORD": at}
    lines = call([place / "bin" / words[0]], place, env).stdout.strip().splitlines()
    if shell == "zsh":
        values = {value for kind, value in zip(lines[::3], lines[1::3], strict=True) if kind == "plain"}
    else:
        values = {line.split(",", 1)[1].split("\t")[0] for line in lines if line.startswith("plain,")}
    assert values == offered


def test_in_bash(place: Path) -> None:
    """bash runs the printed script, which reads and sets bash's own variables."""
    script = 'export PATH="$PWD/bin:$PATH"\neval "$(vtrace completion bash)"\n'
    for words, _ in CASES:
        script += f"COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; COMPREPLY=()\n"
        script += f'_{words[0].replace("-", "_")}_completion {words[0]}; echo "${{COMPREPLY[@]}}"\n'
    done = call([need("bash"), "--norc", "-c", script], place)
    assert [set(line.split()) for line in done.stdout.splitlines()] == [offered for _, offered in CASES]


@pytest.mark.parametrize("tool", ["vtrace", "vtunify", "vtunify-mpi"])
def test_bash_completes_every_command(place: Path, tool: str) -> None:
    script = f'export PATH="$PWD/bin:$PATH"\neval "$(vtrace completion bash)"\ncomplete -p {tool}'
    assert (
        f"-F _{tool.replace('-', '_')}_completion {tool}" in call([need("bash"), "--norc", "-c", script], place).stdout
    )


WRAPPED = [
    ("vtrace-cc -vt:sho", {"-vt:show", "-vt:showme-compile", "-vt:showme-link"}),
    ("vtrace-fc -O2 -vt:f", {"-vt:fc", "-vt:f90", "-vt:f77"}),
    ("vtrace-cxx -vt:inst s", {"sleds"}),
    ("vtrace-cc hea", set()),
]


def test_wrappers_in_bash(place: Path) -> None:
    """Options of the wrappers; bash replaces the text after the last colon. For files bash's own completion."""
    script = 'export PATH="$PWD/bin:$PATH"\neval "$(vtrace completion bash)"\n'
    for line, _ in WRAPPED:
        function = f"_{line.split()[0].replace('-', '_')}_options"
        script += f"COMP_LINE='{line}'; COMP_POINT={len(line)}; {function}; echo \"${{COMPREPLY[@]}}\"\n"
    shown = call([need("bash"), "--norc", "-c", script], place).stdout.splitlines()
    assert [set(line.split()) for line in shown] == [
        {word.removeprefix("-vt:") for word in offered} for _, offered in WRAPPED
    ]
    assert (
        "-F _vtrace_fc_options vtrace-fc" in call([need("bash"), "--norc", "-c", f"{script}complete -p"], place).stdout
    )


def test_wrappers_in_fish_and_zsh(place: Path) -> None:
    asked = "".join(f"complete -C '{line}'; echo; " for line, _ in WRAPPED[:3])
    shown = call([need("fish"), "-N", "-c", f"bin/vtrace completion fish | source; {asked}"], place).stdout
    parts = [{line.split("\t")[0] for line in part.splitlines() if line} for part in shown.split("\n\n")]
    assert parts[:3] == [offered for _, offered in WRAPPED[:3]]
    script = "compdef() { }; compadd() { shift; print -- $@ }; _files() { print files }\n"
    script += 'eval "$(bin/vtrace completion zsh)"\n'
    for line, _ in WRAPPED:
        words = line.split()
        script += f"words=({line}); CURRENT={len(words)}; _{words[0].replace('-', '_')}_options\n"
    shown = call([need("zsh"), "-f", "-c", script], place).stdout.splitlines()
    assert all(offered <= set(line.split()) for line, (_, offered) in zip(shown, WRAPPED, strict=True)), shown
    assert shown[-1] == "files"


def test_files_where_no_prefix_fits(place: Path) -> None:
    """No prefix matches: the answer makes the shell complete file names."""
    env = {"_VTRACE_COMPLETE": "bash_complete", "COMP_WORDS": "vtrace dump no", "COMP_CWORD": "2"}
    assert call([place / "bin" / "vtrace"], place, env).stdout == "file,no\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", ""])
def test_shell_of_the_user(place: Path, shell: str) -> None:
    shown = call([*command("vtrace"), "completion"], place, {"SHELL": f"/usr/bin/{shell}" if shell else ""}).stdout
    assert shown == call([*command("vtrace"), "completion", shell or "bash"], place).stdout


def test_no_other_shell(place: Path) -> None:
    done = call([*command("vtrace"), "completion"], place, {"SHELL": "/bin/tcsh"}, check=False)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "bash, zsh or fish" in done.stderr
