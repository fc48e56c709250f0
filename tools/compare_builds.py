#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the behaviour of two builds of vtrace: archives, tables, messages and symbols.

1. Record a corpus: a plug-in of pytest copies each run before vtunify starts.

     PYTHONPATH=tests:tools CORPUS=DIR .venv/bin/python -m pytest -p compare_builds tests/integration

2. Describe each build, one after the other: run all commands on all runs of the corpus, and on tests/archives.

     tools/compare_builds.py describe CORPUS OLD/.venv/bin old
     tools/compare_builds.py describe CORPUS NEW/.venv/bin new

3. Compare the descriptions: prints differing files; exit code 1 if the builds differ, 2 if a directory is missing.

     tools/compare_builds.py compare old new

4. Compare the costs: the rows that `bench/run.py --json FILE` wrote with each build on an idle machine.

     tools/compare_builds.py bench old.json new.json
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

ARCHIVES = Path(__file__).resolve().parents[1] / "tests" / "archives"
LARGEST = 4 << 20
"""Maximum bytes of a run's local files in the corpus."""

COMMANDS = (
    ("info", "ARCHIVE", "--json"), ("info", "ARCHIVE", "--all"), ("summary", "ARCHIVE", "--json"),
    ("summary", "ARCHIVE", "--csv"), ("summary", "ARCHIVE"), ("timers", "ARCHIVE", "--all"),
    ("profile", "ARCHIVE", "--json"), ("profile", "ARCHIVE", "--by", "callpath", "--csv"), ("profile", "ARCHIVE"),
    ("score", "ARCHIVE", "--json"), ("score", "ARCHIVE"), ("mpip", "ARCHIVE"),
    ("report", "ARCHIVE", "-o", "report.html"), ("export", "ARCHIVE", "--to", "csv", "-o", "export.csv"),
    ("export", "ARCHIVE", "--to", "chrome", "-o", "export.json"), ("export", "ARCHIVE", "--to", "vtune", "-o", "vtune"),
    ("export", "ARCHIVE", "--to", "perfetto", "-o", "export.pftrace"), ("diff", "ARCHIVE", "ARCHIVE", "--json"),
    ("diff", "ARCHIVE", "ARCHIVE"), ("diagnose", "ARCHIVE", "--json"), ("diagnose", "ARCHIVE"),
    ("cut", "ARCHIVE", "--to", "50%", "-o", "cut"), ("cut", "ARCHIVE", "--to", "50%", "-o", "cut", "--force", "--json"),
    ("import", "ARCHIVE", "data.csv", "-o", "both"), ("import", "ARCHIVE", "data.csv", "-o", "both", "--json"),
    ("anonymise", "ARCHIVE", "-o", "other"), ("anonymise", "ARCHIVE", "-o", "other", "--force", "--json"),
)  # fmt: skip
"""Sub-commands of vtrace to run on each archive."""
OF_FILES = (("dump", "PREFIX"), ("dump", "PREFIX", "--json"))
"""Sub-commands to run on local files."""
OF_BUILD = (
    ("settings",), ("settings", "--json"), ("doctor",), ("doctor", "--json"), ("filter", "rules"),
    ("filter", "rules", "--json"), ("filter", "rules", "--explain", "work"),
    ("filter", "rules", "--explain", "work", "--json"), ("counters",), ("counters", "--json"), ("jobs", "."),
    ("jobs", ".", "--json"),
)  # fmt: skip
"""Sub-commands to run without a trace."""
DATA = "name,start_tsc.UTC,end_tsc\nstep,1999-12-31 23:59:58,1999-12-31 23:59:59.5\n"
"""The file data.csv of COMMANDS, whose times are outside of all runs."""
RULES = "work -- 10\nMPI_* -- 0\n* -- -1\n"
"""The filter file of OF_BUILD."""

HELP = ("vtrace", "vtrace-cc", "vtrace-cxx", "vtrace-fc", "vtunify", "vtunify-mpi")

_VARYING = re.compile(
    r"\b\d+(?:\.\d+)? ?(?:ms|us|s|MiB free)\b|(?<=@ Collector PID            : )\d+|(?<=Trace identifier)[ :0-9a-f]+"
)
"""Durations, free space, process ids, and the number that libotf2 draws for each archive."""


class UsageError(Exception):
    """A wrong command line, reported in one line."""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(required=True)
    one = steps.add_parser("describe", help="run all commands of a build on the corpus")
    one.add_argument("corpus", type=Path)
    one.add_argument("bin", type=Path, help="directory of the build's commands")
    one.add_argument("out", type=Path, help="new directory for the description")
    one.add_argument(
        "--every", type=int, default=5, metavar="N", help="run all commands on each Nth archive only (default: 5)"
    )
    one.add_argument(
        "--only", default="*", metavar="PATTERN", help="only runs and archives with such a name (default: all)"
    )
    one.set_defaults(step=lambda o: describe(o.corpus, o.bin.resolve(), o.out.resolve(), o.every, o.only))
    two = steps.add_parser("compare", help="compare two descriptions")
    two.add_argument("old", type=Path)
    two.add_argument("new", type=Path)
    two.set_defaults(step=lambda o: compare(o.old, o.new))
    three = steps.add_parser("bench", help="compare two results of make bench")
    three.add_argument("old", type=Path)
    three.add_argument("new", type=Path)
    three.set_defaults(step=lambda o: compare_costs(o.old, o.new))
    options = parser.parse_args(arguments)
    try:
        return int(options.step(options))
    except UsageError as error:
        print(f"compare_builds.py: error: {error}", file=sys.stderr)
        return 2


# Recording: pytest loads this module as a plug-in.


def pytest_configure() -> None:
    """Lets each call of vtunify in a test copy the local files to the corpus first."""
    import pytest

    from support import tools
    from support.build import run

    if not os.environ.get("CORPUS"):
        pytest.exit("compare_builds: no directory for the corpus; set CORPUS=DIR", returncode=2)
    corpus = Path(os.environ["CORPUS"]).resolve()
    corpus.mkdir(parents=True, exist_ok=True)
    real = tools.call

    def call(words: Sequence[str | Path], cwd: Path, *rest: object, **named: object) -> tools.Done:
        if Path(words[0]).name == "vtunify":
            keep(corpus, [str(word) for word in words[1:]], Path(cwd))
        return real(words, cwd, *rest, **named)  # type: ignore[arg-type]

    tools.call = run.call = call


def keep(corpus: Path, words: list[str], cwd: Path) -> None:
    """Copies the directory of a run, once for each test function and set of arguments."""
    if not words or not words[-1] or Path(words[-1]).is_absolute() or any("/" in word for word in words):
        return
    files = [
        path for path in cwd.glob(f"{words[-1].removesuffix('.trace')}.*") if path.is_file() and not path.is_symlink()
    ]
    if not files or sum(path.stat().st_size for path in files) > LARGEST:
        return
    test = os.environ.get("PYTEST_CURRENT_TEST", "").removeprefix("tests/").split("[")[0].split(" ")[0]
    content = hashlib.sha256("\0".join([*words, *sorted(path.name for path in files)]).encode()).hexdigest()[:8]
    place = corpus / f"{re.sub('[^a-z0-9_]+', '-', test.lower())}-{content}"
    if place.exists():
        return
    new = Path(tempfile.mkdtemp(dir=corpus))
    (new / "files").mkdir()
    for path in files:
        shutil.copy2(path, new / "files")
    (new / "words.json").write_text(json.dumps(words))
    try:
        new.rename(place)
    except OSError:  # another worker has copied the same run
        shutil.rmtree(new)


# Describing a build.


def describe(corpus: Path, bin: Path, out: Path, every: int, only: str) -> int:
    """Writes a text with the results of all commands for each run and archive into out; returns the exit code."""
    if not corpus.is_dir():
        raise UsageError(f"{corpus}: no such directory; record a corpus first (see --help)")
    if not (bin / "vtrace").exists():
        raise UsageError(f"{bin}: no command vtrace; name the directory of a build's commands, such as .venv/bin")
    if out.exists():
        raise UsageError(f"{out} exists; remove it, or name another directory")
    runs = sorted(path.resolve() for path in corpus.iterdir() if (path / "words.json").exists())
    if not runs:
        raise UsageError(f"{corpus}: no recorded runs; record a corpus first (see --help)")
    out.mkdir(parents=True)
    # Archives and messages contain paths, so that both builds must work in the same directory.
    work = _place_of_work()
    shutil.rmtree(work, ignore_errors=True)
    wanted = [path for path in [*runs, *sorted(ARCHIVES.glob("*.tar.xz"))] if fnmatch(path.name, only)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        todo = [pool.submit(_describe_one, bin, out, work, path, n % every == 0) for n, path in enumerate(wanted)]
        for number, done in enumerate(todo, 1):
            done.result()
            if number % 100 == 0:
                print(f"{number} of {len(wanted)} runs", file=sys.stderr)
    _describe_build(bin, out, work)
    shutil.rmtree(work, ignore_errors=True)
    return 0


def _place_of_work() -> Path:
    return Path(tempfile.gettempdir()) / "vtrace-compare-builds"


def _describe_one(bin: Path, out: Path, work: Path, source: Path, all_commands: bool) -> None:
    """Describes a run of the corpus, or an archive or local files of tests/archives."""
    place = work / source.name
    texts: list[str] = []
    words: list[str] | None = None
    if source.is_dir():
        shutil.copytree(source / "files", place)
        words = json.loads((source / "words.json").read_text())
    else:
        with tarfile.open(source) as packed:
            # Python 3.11.3 and older have no filters, and ignore this attribute.
            packed.extraction_filter = getattr(tarfile, "data_filter", None)
            packed.extractall(place)
        words = next(([path.name.partition(".")[0]] for path in place.glob("*.uctl")), None)
        all_commands = True
    (place / "data.csv").write_text(DATA)
    if words:
        prefix = words[-1].removesuffix(".trace")
        texts += [_vtrace(bin, place, command, PREFIX=prefix) for command in OF_FILES]
        texts.append(_call(bin, place, "vtunify", "-k", *words))
    anchors = sorted(place.rglob("traces.otf2"))
    for anchor in anchors if all_commands else []:
        archive = str(anchor.parent.relative_to(place))
        texts += [_vtrace(bin, place, command, ARCHIVE=archive) for command in COMMANDS]
    for anchor in sorted(place.rglob("traces.otf2")):  # those of cut, too
        shown = subprocess.run(["otf2-print", "-I", anchor], capture_output=True, text=True, check=False).stdout
        texts.append(_VARYING.sub("...", shown))
        anchor.unlink()
    texts += _sums(place)
    (out / f"{source.name}.txt").write_text("\n".join(texts) + "\n")
    shutil.rmtree(place)


def _describe_build(bin: Path, out: Path, work: Path) -> None:
    """Writes help texts, settings, the state of the machine, installed files and exported symbols."""
    empty = work / "build"
    empty.mkdir(parents=True)
    texts = [_call(bin, empty, name, "--help") for name in HELP]
    listed = re.findall(r"^  ([a-z-]+)  ", texts[0].partition("Commands:")[2], re.MULTILINE)
    texts += [_call(bin, empty, "vtrace", name, "--help") for name in listed]
    (out / "help.txt").write_text("\n".join(texts) + "\n")
    (empty / "rules").write_text(RULES)
    texts = [_vtrace(bin, empty, command) for command in OF_BUILD]
    (out / "build.txt").write_text("\n".join(texts) + "\n")
    # The distribution's name is looked up: the two builds may have different names.
    ask = (
        "from importlib.metadata import files, packages_distributions as named; "
        "print(*sorted(map(str, files(named()['vtrace'][0]))), sep='\\n')"
    )
    (out / "installed.txt").write_text(_python(bin, ask))
    where = _python(bin, "import vtrace.paths; print(vtrace.paths.LIB)").strip()
    (out / "libraries").mkdir()
    for library in sorted(Path(where).glob("*.so*")):
        symbols = subprocess.run(
            ["nm", "-D", "--defined-only", "--format=just-symbols", library], capture_output=True, text=True
        )
        (out / f"{library.name}.symbols.txt").write_text(symbols.stdout)
        shutil.copy(library, out / "libraries")


@cache
def _prefix(bin: Path) -> str:
    """The directory of the build's virtual environment, which commands show."""
    return _python(bin, "import sys; print(sys.prefix)").strip()


def _python(bin: Path, code: str) -> str:
    return subprocess.run([bin / "python", "-c", code], capture_output=True, text=True, check=True).stdout


def _vtrace(bin: Path, cwd: Path, words: Sequence[str], **names: str) -> str:
    """The result of a sub-command of vtrace. names: for the words in capitals."""
    return _call(bin, cwd, "vtrace", *(names.get(word, word) for word in words))


def _call(bin: Path, cwd: Path, *words: str) -> str:
    env = {name: value for name, value in os.environ.items() if not name.startswith("VT_")}
    env |= {"PATH": f"{bin}{os.pathsep}{env.get('PATH', os.defpath)}", "LC_ALL": "C.UTF-8", "COLUMNS": "120"}
    env["VT_SHIM_CACHE"] = str(_place_of_work() / "shims")
    done = subprocess.run([str(bin / words[0]), *words[1:]], cwd=cwd, env=env, capture_output=True, timeout=600)
    texts = [
        _VARYING.sub("...", text.decode(errors="replace").replace(_prefix(bin), "BUILD"))
        for text in (done.stdout, done.stderr)
    ]
    return f"{' '.join(words)}\nexit code {done.returncode}\n-- stdout\n{texts[0]}\n-- stderr\n{texts[1]}"


def _sums(directory: Path) -> Iterator[str]:
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            yield f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(directory)}"


# Comparing two descriptions.


def compare(old: Path, new: Path) -> int:
    """Prints the first lines of each difference; returns 1 if there are differences, else 0."""
    for place in (old, new):
        if not (place / "libraries").is_dir():
            raise UsageError(f"{place}: no description of a build; describe writes one (see --help)")
    texts = {path.name for place in (old, new) for path in place.glob("*.txt")}
    differing = 0
    for name in sorted(texts):
        lines = [(place / name).read_text().splitlines() if (place / name).exists() else [] for place in (old, new)]
        if lines[0] != lines[1]:
            differing += 1
            found = list(difflib.unified_diff(*lines, f"{old}/{name}", f"{new}/{name}", lineterm="", n=0))
            print("\n".join(line[:300] for line in found[:20]))
    differing += _compare_abis(old / "libraries", new / "libraries")
    print(f"{len(texts)} texts compared, {differing} differences")
    return bool(differing)


ABIDIFF = {1: "error", 2: "wrong call", 4: "change", 8: "incompatible change"}
"""Bits of abidiff's exit code."""


def _compare_abis(old: Path, new: Path) -> int:
    """Compares types and functions of the libraries with libabigail's abidiff, if installed; returns the number of
    libraries that differ."""
    if not shutil.which("abidiff"):
        print("abidiff not found (Debian: abigail-tools): comparing only names of symbols", file=sys.stderr)
        return 0
    differing = 0
    for library in sorted(path for path in old.iterdir() if (new / path.name).exists()):
        done = subprocess.run(["abidiff", library, new / library.name], capture_output=True, text=True)
        found = [word for bit, word in ABIDIFF.items() if done.returncode & bit]
        if done.returncode:
            differing += 1
            print(f"{library.name}: abidiff: {', '.join(found) or f'exit code {done.returncode}'}")
            print(done.stdout + done.stderr)
    return differing


# Comparing two results of make bench.


def compare_costs(old: Path, new: Path) -> int:
    """Prints each row with its value before and after, and their ratio; 1 if a row is missing in one of the files."""
    for path in (old, new):
        if not path.is_file():
            raise UsageError(f"{path}: no such file; bench/run.py --json FILE writes one")
    before, after = ({row["what"]: row for row in json.loads(path.read_text())} for path in (old, new))
    width = max(map(len, before | after), default=4)
    print(f"{'name':{width}}  {'before':>10}  {'after':>10}  ratio  unit")
    for name, row in (before | after).items():
        values = [rows[name]["measured"] if name in rows else None for rows in (before, after)]
        cells = [f"{value:>10.4g}" if value is not None else f"{'-':>10}" for value in values]
        ratio = f"{values[1] / values[0]:5.2f}" if values[0] and values[1] is not None else "    -"
        print(f"{name:{width}}  {'  '.join(cells)}  {ratio}  {row['unit']}")
    return int(before.keys() != after.keys())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
