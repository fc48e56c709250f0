# SPDX-License-Identifier: BSD-3-Clause
"""vtrace anonymise: no byte of the copy has a name of the source; times and structure are those of the source."""

from __future__ import annotations

import errno
import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest

import vtrace as package
from support.build.builder import Builder
from support.build.kinds import KINDS
from support.build.run import run, unify, vtrace
from support.damage.damaged_archives import PROPERTIES, Mutant, property_texts, rich
from support.oracles.check import check
from support.oracles.user_api import INCLUDE
from support.readers.archive import Trace, read
from support.synthetic_runs.archives import Foreign
from support.tools import DEFAULTS, PROGRAMS, call, need
from vtrace.errors import VtraceError
from vtrace.io.sidecar import sidecar
from vtrace.transform.pseudonyms import Pseudonyms

KIND_NAMES = (
    "messages", "rma", "io", "mpi-io", "threads", "openmp", "heap", "markers", "killed", "scorep-heat2d", "scorep-io",
    "scorep-omp", "scorep-sampling",
)  # fmt: skip


LOOPS = ("for", "while", "do", "goto", "DO", "DO WHILE", "ARRAY", "OTHER")
"""The kinds of loops in symbols/loop_source.py."""
SETTINGS = {
    "VT_PTHREAD": "locks", "VT_PROCESSOR_WAIT": "yes", "VT_SAMPLE_CLOCK": "wall", "VT_MEMTRACE_THRESHOLD": "64K",
    "VT_MPI_GROUPS": "p2p,coll",
}  # fmt: skip
"""Settings on which a diagnosis depends."""
PRIVATE = {"VT_FUNCTIONS": "solve;-*", "VT_FILE_PREFIX": "heat"}
TYPE_STRING, NO_TEXT = 11, 254
"""OTF2_TYPE_STRING; the number of a string that no definition has."""


def anonymise(archive: Path, where: Path, *options: str) -> tuple[Path, dict[str, str]]:
    """The copy, and the pseudonyms of the texts."""
    vtrace(where, "anonymise", archive, "-o", "copy", "--force", "--map", "names.json", *options)
    return where / "copy.trace", json.loads((where / "names.json").read_text())


def contents(archive: Path) -> bytes:
    """All files; the columns of the sidecar's tables are compressed, but these are numbers."""
    return b"\n".join(path.read_bytes() for path in sorted(archive.rglob("*")) if path.is_file())


def texts(archive: Path) -> set[str]:
    """The strings of the definitions, and the names in the sidecar, of call sites those of functions and files."""
    trace = package.open(archive)
    identity = sidecar.identity(trace.anchor, trace.properties)
    tables = (sidecar.COVERAGE, sidecar.WAITS, sidecar.BLOCKED, sidecar.LONG_CALLS)
    found = [sidecar.read(archive, *table, identity) for table in tables]
    sites = {text for table in found if table for names in table.names.values() for text in names}
    parts = {part for site in sites for part in re.split(r" <- |@|:\d+(?= |$)", site)}
    return {*trace.definitions.strings.values()} | sites | parts


def told(archive: Path, names: Mapping[str, str]) -> list[tuple[str, int, str]]:
    """Kind, loss and culprit of each finding. names: pseudonyms, which are translated."""
    originals = {pseudonym: text.rpartition("/")[2].removesuffix(".py") for text, pseudonym in names.items()}
    pattern = re.compile(r"\b[a-z]+_\d+\b")
    found = json.loads(vtrace(archive.parent, "diagnose", "--json", archive).stdout)["findings"]
    culprits = [pattern.sub(lambda name: originals.get(name[0], name[0]), one["culprit"]) for one in found]
    return [(one["kind"], one["loss_ns"], culprit) for one, culprit in zip(found, culprits, strict=True)]


def with_properties(directory: Path) -> Path:
    """An archive with properties of vtrace, of another user and host."""
    archive = Mutant(directory, Random(0), 0.0)
    archive.events(0, [(10, "Enter", 0)])
    archive.begin_definitions()
    archive.machine()
    archive.location(0)
    archive.region(0, "main")
    loops = [PROPERTIES["LOOPS"][0] | {"number": n, "kind": kind} for n, kind in enumerate(LOOPS)]
    archive.properties(property_texts() | {"LOOPS": json.dumps(loops), "SETTINGS": json.dumps(SETTINGS | PRIVATE)})
    archive.define("LocationGroupProperty", 0, "VTRACE::CORES", TYPE_STRING, archive.text("0-3,8"))
    archive.define("LocationGroupProperty", 0, "VTRACE::PID", TYPE_STRING, archive.text("5410"))
    archive.define("LocationProperty", 0, NO_TEXT, 4, 77)
    return archive.close().parent


def full_disk(*_: object, **__: object) -> str:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


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


@pytest.mark.parametrize("kind", [kind for kind in KIND_NAMES if kind not in ("threads", "scorep-io", "scorep-omp")])
def test_texts(build: Builder, tmp_path: Path, kind: str) -> None:
    """No definition, property or table has a text that has a pseudonym."""
    source = KINDS[kind](build, tmp_path).archive
    copy, names = anonymise(source, tmp_path)
    found = contents(copy)
    assert names
    assert not names.keys() & texts(copy)
    assert not [text for text in names if json.dumps(text).encode() in found]
    before, after = read(source), read(copy)
    assert shape(before) == shape(after)
    assert [location.declared for location in before.locations.values()] == [
        location.declared for location in after.locations.values()
    ]


def test_no_secret(build: Builder, tmp_path: Path) -> None:
    """No byte has a word of the program, its user, host or directory, but for words that a copy without them has, such
    as the key user."""
    source = secret(build, tmp_path, "100")
    trace = package.open(source)
    own = {trace.vtrace["ABOUT"]["user"], trace.vtrace["ABOUT"]["unified_on"], *trace.processes["host"].tolist()}
    common = contents(anonymise(with_properties(tmp_path / "other.trace"), tmp_path)[0])
    (tmp_path / "names.json").unlink()
    words = {word.encode() for word in {"secret", str(tmp_path.parent), *own} if len(word) > 3}
    assert all(word in contents(source) for word in words)
    copy, names = anonymise(source, tmp_path)
    found = contents(copy)
    assert not [word for word in words if word in found and word not in common]
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
    assert names
    assert not names.keys() & texts(copy)


@pytest.mark.parametrize(("text", "said"), [("[1]", "has no pseudonyms"), ("{", "cannot read the pseudonyms")])
def test_wrong_map(build: Builder, tmp_path: Path, text: str, said: str) -> None:
    archive = KINDS["io"](build, tmp_path).archive
    (tmp_path / "names.json").write_text(text)
    done = vtrace(tmp_path, "anonymise", archive, "-o", "copy", "--map", "names.json", check=False)
    assert done.returncode == 1
    assert said in done.stderr
    assert not (tmp_path / "copy.trace").exists()


@pytest.mark.parametrize("mode", ["sleep", "queue"])
def test_same_diagnosis(tmp_path: Path, mode: str) -> None:
    vtrace(tmp_path, "run", "-o", "a", sys.executable, PROGRAMS / "asleep.py", mode, env=DEFAULTS)
    unify(tmp_path, "a")
    copy, names = anonymise(tmp_path / "a.trace", tmp_path)
    before = told(tmp_path / "a.trace", {})
    assert any("time.sleep" in culprit and "asleep.py:" in culprit for _, _, culprit in before)
    assert [(kind, ns, culprit.replace(".py", "")) for kind, ns, culprit in before] == [
        (kind, ns, culprit.replace(".py", "")) for kind, ns, culprit in told(copy, names)
    ]


def test_public_properties_stay(tmp_path: Path) -> None:
    """A property whose name has no text does not. The number of a process tells which programs a process has run."""
    copy, _ = anonymise(with_properties(tmp_path / "a.trace"), tmp_path)
    trace = package.open(copy)
    assert [loop["kind"] for loop in trace.vtrace["LOOPS"]] == [*LOOPS]
    assert trace.vtrace["SETTINGS"] == SETTINGS
    assert trace.group_properties["value"].tolist() == ["0-3,8", "pid_1"]
    assert not trace.location_properties.rows


@pytest.mark.parametrize("command", ["anonymise", "cut"])
def test_samples_are_not_left_out(build: Builder, tmp_path: Path, command: str) -> None:
    """The command copies the archive with samples inside the archive."""
    source = secret(build, tmp_path, "100")
    made = json.loads(vtrace(tmp_path, command, source, "-o", "copy", "--json").stdout)
    assert (source / "vtrace" / "samples").is_dir()
    assert "samples" not in made["tables_left_out"]
    assert package.open(tmp_path / "copy.trace").contexts.rows


def test_map_is_for_the_user_alone(build: Builder, tmp_path: Path) -> None:
    """Also a file that others could read, which stays as it was if the disk is full."""
    archive, file = KINDS["io"](build, tmp_path).archive, tmp_path / "names.json"
    file.write_text('{"Gr\u00fc\u00dfe": "function_7"}', encoding="utf-8")
    file.chmod(0o644)
    _, names = anonymise(archive, tmp_path)
    assert names["Gr\u00fc\u00dfe"] == "function_7"
    assert file.stat().st_mode & 0o777 == 0o600


def test_map_in_no_directory(build: Builder, tmp_path: Path) -> None:
    """The error comes before the copy."""
    archive = KINDS["io"](build, tmp_path).archive
    done = vtrace(tmp_path, "anonymise", archive, "-o", "copy", "--map", "nodir/names.json", check=False)
    assert done.returncode == 1
    assert "cannot write the pseudonyms to nodir/names.json" in done.stderr
    assert not (tmp_path / "copy.trace").exists()


def test_map_of_a_failed_call_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk does not destroy the pseudonyms of earlier calls."""
    pseudonyms, file = Pseudonyms(), tmp_path / "names.json"
    pseudonyms.name("text", "first")
    pseudonyms.write(file)
    before = file.read_bytes()
    pseudonyms.name("text", "second")
    with monkeypatch.context() as patch:
        patch.setattr(json, "dumps", full_disk)
        with pytest.raises(VtraceError, match="No space left"):
            pseudonyms.write(file)
    assert file.read_bytes() == before
    assert [*tmp_path.iterdir()] == [file]
