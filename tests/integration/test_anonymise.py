# SPDX-License-Identifier: BSD-3-Clause
"""vtrace anonymise: no byte of the copy has a name of the source; times and structure are those of the source."""

from __future__ import annotations

import getpass
import json
import platform
from pathlib import Path

import pytest

from support.build.builder import Builder
from support.build.kinds import KINDS
from support.build.run import run, unify, vtrace
from support.damage.damaged_archives import rich
from support.oracles.check import check
from support.oracles.user_api import INCLUDE
from support.readers.archive import Trace, read
from support.synthetic_runs.archives import Foreign
from support.tools import DEFAULTS, call, need

KIND_NAMES = (
    "messages", "rma", "io", "mpi-io", "threads", "openmp", "heap", "markers", "killed", "scorep-heat2d", "scorep-io",
    "scorep-omp", "scorep-sampling",
)  # fmt: skip


def anonymise(archive: Path, where: Path, *options: str) -> tuple[Path, dict[str, str]]:
    """The copy, and the pseudonyms of the texts."""
    vtrace(where, "anonymise", archive, "-o", "copy", "--force", "--map", "names.json", *options)
    return where / "copy.trace", json.loads((where / "names.json").read_text())


def contents(archive: Path) -> bytes:
    """All files; the columns of the sidecar's tables are compressed, but these are numbers."""
    return b"\n".join(path.read_bytes() for path in sorted(archive.rglob("*")) if path.is_file())


def shape(trace: Trace) -> list[tuple[int, int, str]]:
    return [(event.location, event.time, event.kind) for event in trace.events]


def secret(build: Builder, where: Path, samples: str = "0") -> Path:
    """The archive of secret.c with all that vtrace records. samples: a second."""
    env = {
        **DEFAULTS, "VT_PTHREAD": "locks", "VT_IOTRACE": "yes", "VT_MEMTRACE": "yes", "VT_SAMPLE_RATE": samples,
        "VT_SAMPLE_SIDECAR": "yes",
    }  # fmt: skip
    program = build("secret.c", flags=("-DVTRACE", "-g", "-O1", "-pthread", INCLUDE))
    run(program, where, "secret word", env=env)
    unify(where, "secret")
    return where / "secret.trace"


@pytest.mark.parametrize("kind", KIND_NAMES)
def test_texts(build: Builder, tmp_path: Path, kind: str) -> None:
    """No definition, property or table has a text that has a pseudonym."""
    source = KINDS[kind](build, tmp_path).archive
    copy, names = anonymise(source, tmp_path)
    found = contents(copy)
    assert names
    for text in names:
        assert b"\0" + text.encode() + b"\0" not in found
        assert json.dumps(text).encode() not in found
    before, after = read(source), read(copy)
    assert shape(before) == shape(after)
    assert [location.declared for location in before.locations.values()] == [
        location.declared for location in after.locations.values()
    ]


def test_no_secret(build: Builder, tmp_path: Path) -> None:
    """No byte has a word of the program, its user, host or directory."""
    source = secret(build, tmp_path, "100")
    words = [b"secret", platform.node().encode(), getpass.getuser().encode(), str(tmp_path.parent).encode()]
    assert all(word in contents(source) for word in (words[0], words[1], words[3]))
    copy, names = anonymise(source, tmp_path)
    found = contents(copy)
    assert not [word for word in words if len(word) > 3 and word in found]
    assert {"secret_write", "secret region", "secret counter", "secret queue", "secret remark"} <= names.keys()
    check(copy)
    assert len({*names.values()}) == len(names)


def test_public_names_stay(build: Builder, tmp_path: Path) -> None:
    copy, _ = anonymise(secret(build, tmp_path), tmp_path)
    calls = check(copy).calls()
    assert calls["main"] == 1
    assert calls["pthread_mutex_lock"] == 2
    assert calls["fopen"] == calls["fclose"] == 1


def test_keep(build: Builder, tmp_path: Path) -> None:
    kept = {"secret_write", "secret_wait", "secret region"}
    copy, names = anonymise(secret(build, tmp_path), tmp_path, "--keep", "secret_w*", "--keep", "secret region")
    assert kept <= {region.name for region in check(copy).regions.values()}
    assert not kept & names.keys()


def test_map(build: Builder, tmp_path: Path) -> None:
    """A later archive gets the same pseudonyms, and new ones for new names."""
    for name in ("io", "threads"):
        (tmp_path / name).mkdir()
    first, second = (KINDS[name](build, tmp_path / name).archive for name in ("io", "threads"))
    _, names = anonymise(first, tmp_path)
    _, more = anonymise(second, tmp_path)
    assert names.items() < more.items()
    assert len({*more.values()}) == len(more)
    assert (tmp_path / "names.json").stat().st_mode & 0o777 == 0o600


def test_same_bytes(build: Builder, tmp_path: Path) -> None:
    """The same archive gives the same copy, but for the random number in the anchor file."""
    source, made = KINDS["messages"](build, tmp_path).archive, []
    for _ in range(2):
        copy = anonymise(source, tmp_path)[0]
        made.append({p.name: p.read_bytes() for p in copy.rglob("*") if p.is_file() and p.name != "traces.otf2"})
        (tmp_path / "names.json").unlink()
    assert made[0] == made[1]


def test_every_definition(tmp_path: Path) -> None:
    """Of an archive with all kinds of definitions and events, which no tool writes, no unknown property stays."""
    copy, names = anonymise(rich(Foreign(tmp_path / "rich.trace")), tmp_path)
    call([need("otf2-print"), "-G", copy / "traces.otf2"], tmp_path)
    found = contents(copy)
    assert names
    assert not [text for text in names if b"\0" + text.encode() + b"\0" in found]


@pytest.mark.parametrize(("text", "said"), [("[1]", "has no pseudonyms"), ("{", "cannot read the pseudonyms")])
def test_wrong_map(build: Builder, tmp_path: Path, text: str, said: str) -> None:
    archive = KINDS["io"](build, tmp_path).archive
    (tmp_path / "names.json").write_text(text)
    done = vtrace(tmp_path, "anonymise", archive, "-o", "copy", "--map", "names.json", check=False)
    assert done.returncode == 1
    assert said in done.stderr
    assert not (tmp_path / "copy.trace").exists()
