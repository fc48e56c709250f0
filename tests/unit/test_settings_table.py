# SPDX-License-Identifier: BSD-3-Clause
"""The runtime's table of settings is the only one: the documentation and `vtrace settings` show this table."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from support.build.run import vtrace
from support.tools import ROOT
from vtrace.settings import in_force
from vtrace.settings_file import NO, YES

GUIDE = {
    "VT_BUFFER_SIZE": "32M", "VT_CLEAN": "yes", "VT_COMPRESSION": "yes", "VT_FILE_PREFIX": None, "VT_FILE_UNIQUE": "no",
    "VT_GNU_NMFILE": None, "VT_MAX_FLUSHES": "0", "VT_MAX_THREADS": "65536", "VT_PFORM_GDIR": None,
    "VT_PFORM_LDIR": None, "VT_THREAD_BUFFER_SIZE": "0", "VT_VERBOSE": "1", "VT_MPITRACE": "yes", "VT_IOTRACE": "no",
    "VT_MEMTRACE": "no", "VT_SYNC_FLUSH": "no", "VT_SYNC_FLUSH_LEVEL": "80", "VT_MAX_STACK_DEPTH": "0",
}  # fmt: skip
"""Defaults of the guide's table 4.5, without VT_PREFIX of the compiler wrappers. None: the default depends on the
environment. The guide's default of VT_MAX_FLUSHES is 1."""


def shown(where: Path, **env: str) -> dict[str, dict[str, str]]:
    return {row["name"]: row for row in json.loads(vtrace(where, "settings", "--json", env=env).stdout)}


TABLE = re.findall(r"^(NUMBER|TEXT|OTHER)\((VT_\w+),", (ROOT / "csrc/core/settings_table.h").read_text(), re.MULTILINE)


def test_every_setting_has_a_meaning(tmp_path: Path) -> None:
    found = shown(tmp_path)
    assert list(found) == [name for kind, name in TABLE if kind != "OTHER"]
    assert len(found) > 30
    assert all(row["meaning"] for row in found.values())


def test_the_guide_s_defaults(tmp_path: Path) -> None:
    found = shown(tmp_path)
    for name, standard in GUIDE.items():
        assert found[name]["origin"] == "default"
        if standard:
            assert found[name]["value"] == standard
    assert found["VT_PFORM_GDIR"]["value"] == found["VT_PFORM_LDIR"]["value"] == str(tmp_path)


def test_documentation(tmp_path: Path) -> None:
    """`vtrace help settings` has the same rows; docs/settings.md has none."""
    rows = re.findall(r"^\| (VT_\w+) \| (.*?) \| (.*?) \|$", vtrace(tmp_path, "help", "settings").stdout, re.MULTILINE)
    assert "| VT_" not in (ROOT / "docs/settings.md").read_text()
    assert rows == [(name, row["standard"], row["meaning"]) for name, row in shown(tmp_path).items()]


LIMITS = {
    "VT_BUFFER_SIZE": {"99K": "100K", "102401": "102401", "2g": "2G", "-5": "32M"}, "VT_MAX_THREADS": {"0": "1"},
    "VT_SYNC_FLUSH_LEVEL": {"101": "100", "0": "0"}, "VT_THREAD_BUFFER_SIZE": {"2G": "1G"},
    "VT_FILE_UNIQUE": {"1": "1", "0": "no", "on": "yes", "-3": "no", "1000000": "no"},
}  # fmt: skip
"""By setting: the values that are used in place of those that are given."""


@pytest.mark.parametrize("name", LIMITS)
def test_limits(tmp_path: Path, name: str) -> None:
    for given, value in LIMITS[name].items():
        row = shown(tmp_path, **{name: given})[name]
        assert (row["value"], row["origin"].startswith("environment")) == (value, True), given


def test_words_for_yes_and_no(tmp_path: Path) -> None:
    """The words of the Python code are those of the runtime."""
    for words, value in ((YES, "yes"), (NO, "no")):
        for word in words:
            row = shown(tmp_path, VT_IOTRACE=word)["VT_IOTRACE"]
            assert (row["value"], row["origin"]) == (value, f"environment{'' if word == value else f': {word}'}")


def test_a_table_for_people(tmp_path: Path) -> None:
    done = vtrace(tmp_path, "settings", env={"VT_BUFFER_SIZE": "lots"})
    assert len(done.stdout.splitlines()) == len(in_force())
    assert re.search(r"^VT_BUFFER_SIZE +32M +environment: lots +bytes", done.stdout, re.MULTILINE)
    assert done.stderr == "vtrace: VT_BUFFER_SIZE=lots is not a size in bytes, K, M or G (at least 100K): 32M is used\n"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("VT_BUFER_SIZE", "did you mean VT_BUFFER_SIZE?"),
        ("VT_MPI_TRACE", "did you mean VT_MPITRACE?"),
        ("VT_FILE_PERFIX", "did you mean VT_FILE_PREFIX?"),
        ("VT_AUTOFLUSH", "vtrace settings lists all"),
        ("VT_" + "X" * 5000, "vtrace settings lists all"),
    ],
)
def test_unknown_names(tmp_path: Path, name: str, hint: str) -> None:
    lines = vtrace(tmp_path, "settings", env={name: "1"}).stderr.splitlines()
    assert len(lines) == 1
    assert name[:60] in lines[0]
    assert hint in lines[0]


@pytest.mark.parametrize("name", ["VT_MAX_MPI_COMMS", "VT_MAX_MPI_WINS", "VT_GNU_NM", "VT_CC", "VT_PREFIX", "VTK_DIR"])
def test_names_without_effect_are_accepted(tmp_path: Path, name: str) -> None:
    assert vtrace(tmp_path, "settings", env={name: "100"}).stderr == ""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$HERE/x", "/usr/x"),
        ("${HERE}x", "/usrx"),
        ("%j", "0"),
        ("p%%", "p%"),
        ("a%zb", "a%zb"),
        ("a$", "a$"),
        ("a$-b${", "a$-b${"),
        ("%r-%r", "0-0"),
    ],
)
def test_expansion(tmp_path: Path, text: str, value: str) -> None:
    """VT_GNU_NMFILE expands to the path of a file that need not exist."""
    expected = value if value.startswith("/") else f"{tmp_path}/{value}"
    assert shown(tmp_path, VT_GNU_NMFILE=text, HERE="/usr")["VT_GNU_NMFILE"]["value"] == expected


def test_expansion_of_job_and_rank(tmp_path: Path) -> None:
    env = {"VT_FILE_PREFIX": "r%r.j%j", "PMI_RANK": "3", "SLURM_JOB_ID": "88"}
    assert shown(tmp_path, **env)["VT_FILE_PREFIX"]["value"] == "r3.j88"
