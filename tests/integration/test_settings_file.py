# SPDX-License-Identifier: BSD-3-Clause
"""Settings files: VT_CONFIG, the user's and the machine's file, for programs and for vtrace's commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.run import names, run, unify, vtrace
from support.readers.archive import read
from support.tools import call, command

FILE = """# of the site
VT_FILE_PREFIX = from_file

 VT_MODE=RING
VT_MODE=TRACE
VT_BUFFER_SIZE=64M
"""


def settings(cwd: Path, env: dict[str, str]) -> dict[str, dict[str, str]]:
    """The settings that `vtrace settings` shows, by name."""
    return {one["name"]: one for one in json.loads(vtrace(cwd, "settings", "--json", env=env).stdout)}


def test_a_program(build: Builder, tmp_path: Path) -> None:
    """A program that vtrace-cc has linked reads the file; vtunify and vtrace find the setting in it, too."""
    program = build("many.c")
    (tmp_path / "site.conf").write_text(FILE)
    env = {"VT_CONFIG": "site.conf"}
    done = run(program, tmp_path, "10", env=env)
    assert "next: vtunify from_file" in done.stderr
    assert names(tmp_path) >= {"from_file.uctl", "site.conf"}
    unify(tmp_path, "from_file", env=env)
    told = json.loads(vtrace(tmp_path, "info", "--json", "from_file").stdout)
    assert told["settings"]["VT_BUFFER_SIZE"] == "64M"


def test_who_is_stronger(tmp_path: Path) -> None:
    """The environment, then the user's file; VT_CONFIG replaces the files, and may name none."""
    (tmp_path / ".config/vtrace").mkdir(parents=True)
    (tmp_path / ".config/vtrace/settings").write_text(FILE)
    (tmp_path / "other").write_text("VT_BUFFER_SIZE=1G\n")
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": ""}
    found = settings(tmp_path, home)
    user = f"{tmp_path}/.config/vtrace/settings"
    assert (found["VT_BUFFER_SIZE"]["value"], found["VT_BUFFER_SIZE"]["origin"]) == ("64M", f"{user}:6")
    assert (found["VT_MODE"]["value"], found["VT_MODE"]["origin"]) == ("TRACE", f"{user}:5")
    found = settings(tmp_path, home | {"VT_BUFFER_SIZE": "2M", "VT_MODE": ""})
    assert (found["VT_BUFFER_SIZE"]["value"], found["VT_BUFFER_SIZE"]["origin"]) == ("2M", "environment")
    assert found["VT_MODE"]["value"] == "TRACE"
    assert found["VT_FILE_PREFIX"]["value"] == "from_file"
    found = settings(tmp_path, {"XDG_CONFIG_HOME": str(tmp_path / ".config")})
    assert found["VT_BUFFER_SIZE"]["value"] == "64M"
    found = settings(tmp_path, home | {"VT_CONFIG": "other"})
    assert (found["VT_BUFFER_SIZE"]["value"], found["VT_BUFFER_SIZE"]["origin"]) == ("1G", "other:1")
    assert found["VT_FILE_PREFIX"]["origin"] == "default"
    assert settings(tmp_path, home | {"VT_CONFIG": ""})["VT_BUFFER_SIZE"]["origin"] == "default"


def test_vtrace_run_and_the_compiler_wrapper(build: Builder, tmp_path: Path) -> None:
    """A shim that is preloaded, and vtrace-cc, follow the file."""
    program = build("io_files.c", plain=True)
    (tmp_path / "site.conf").write_text("VT_IOTRACE=yes\nVT_FILE_PREFIX=files\nVT_INST=manual\n")
    env = {"VT_CONFIG": str(tmp_path / "site.conf")}
    vtrace(tmp_path, "run", str(program), env=env)
    unify(tmp_path, "files")
    regions = {region.name for region in read(tmp_path / "files.trace").regions.values()}
    assert {"open", "fstat"} & regions
    shown = call([*command("vtrace-cc"), "-vt:show", "x.c"], tmp_path, env).stdout
    assert shown != call([*command("vtrace-cc"), "-vt:show", "x.c"], tmp_path).stdout
    assert shown == call([*command("vtrace-cc"), "-vt:show", "x.c"], tmp_path, {"VT_INST": "manual"}).stdout


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("HOME=/x\n", 'line 1: "HOME=/x" is not VT_NAME=VALUE: the line is ignored'),
        ("# x\n\nVT_MODE\n", 'line 3: "VT_MODE" is not VT_NAME=VALUE: the line is ignored'),
        ("VT_MOD=TRACE\n", "unknown setting VT_MOD; did you mean VT_MODE?"),
        ("VT_MODE=x\n", "VT_MODE=x is not TRACE, RING or PROFILE: TRACE is used"),
        ("VT_\x1b[2J\n", 'line 1: "VT_?[2J" is not VT_NAME=VALUE: the line is ignored'),
        ("a\0b", "not a text: the file is ignored"),
        ("# \n" * 6000, "has more than 16383 bytes or 256 settings: the rest is ignored"),
        ("VT_MODE=RING\n" * 300, "has more than 16383 bytes or 256 settings: the rest is ignored"),
        (None, "no such file: the file is ignored"),
    ],
)
def test_wrong_files(build: Builder, tmp_path: Path, content: str | None, said: str) -> None:
    """One line reports the error; the program ends as usual."""
    program = build("many.c")
    if content is not None:
        (tmp_path / "wrong.conf").write_text(content)
    done = run(program, tmp_path, "10", env={"VT_CONFIG": "wrong.conf"})
    lines = done.stderr.splitlines()
    assert done.stdout == "done 10\n"
    assert len(lines) == 2
    assert lines[0].startswith("vtrace: ")
    assert said in lines[0]
