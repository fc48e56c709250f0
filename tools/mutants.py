#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures how many random single changes of the sources the tests find (make mutants).

tools/mutants.py [--count N] [--seed N] [--work DIR] [--all]     goes on where the last run ended; prints found/total

A mutant is one change: an operator, a constant by one, a removed statement, a negated condition or swapped branches.
The changes are drawn from AREAS, each kind as often. Each is applied to a clone of HEAD in DIR/copy, which tests and
commands take from PYTHONPATH and VTRACE_PYTHONPATH, and built there. A change that does not compile, or compiles to the
same code, does not count. Comments, texts, annotations, decorators and lines of the preprocessor do not change.
DIR/results-SEED.jsonl gets a line for each mutant; a mutant with a line is not tried again. The shim is that of the
mpicc beside this Python: the MPICH wheel's has no Fortran binding, so that changes of fortran.c do not count.

The files of tests run until one fails; a time-out is a failure, too:
1. those that import the Python module or name the C file,
2. those that TESTS gives for the area, or whose name has a word of the source's name.
Within both, files with such a word run first, then unit tests, then those that took less time. After a failure that
file runs once without any change; a file that fails then, too, does not count (DIR/times.jsonl). --all runs for the
survivors so far all files of `make test`, which takes long.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
AREAS = ("csrc/core", "csrc/otf2_writer", "csrc/mpiwrap", "src/vtrace/unify", "src/vtrace/analysis", "src/vtrace/io")

TESTS = {
    "csrc/core": "unit/test_core unit/test_format unit/test_settings_table integration/test_settings "
    "integration/test_start_stop integration/test_windows integration/test_threads integration/test_filter "
    "integration/test_ring integration/test_limits integration/test_max_size integration/test_signals "
    "integration/test_processes integration/test_disk integration/test_safety integration/test_left_calls "
    "integration/test_budget integration/test_keep integration/test_profile_only integration/test_matrix",
    "csrc/otf2_writer": "unit/test_kernel* unit/test_repair_steps unit/test_schema unit/test_unify_heap "
    "unit/test_unify_repair unit/test_unify_rma_windows unit/test_unify_run unit/test_sample_contexts "
    "integration/test_salvage integration/test_lost integration/test_recorded_runs integration/test_matrix",
    "csrc/mpiwrap": "unit/test_generate unit/test_mpi_* unit/test_shim integration/test_mpi_shim "
    "integration/test_mpi_messages integration/test_mpi_collectives integration/test_mpi_comms "
    "integration/test_mpi_rma integration/test_mpi_io integration/test_mpi_* integration/test_matrix",
    "src/vtrace/unify": "unit/test_unify_* unit/test_repair_steps integration/test_unify_open_files "
    "integration/test_salvage integration/test_threads integration/test_recorded_runs integration/test_matrix",
    "src/vtrace/analysis": "unit/test_*findings unit/test_questions unit/test_activity unit/test_open "
    "unit/test_efficiencies unit/test_replay* unit/test_mpi_waits unit/test_io_waits unit/test_shared_scan "
    "integration/test_summary integration/test_profile integration/test_diagnose integration/test_ledger*",
    "src/vtrace/io": "unit/test_archive unit/test_local unit/test_sidecar unit/test_records unit/test_dump_* "
    "integration/test_dump integration/test_bad_input integration/test_reading integration/test_hostile_files",
}
"""Area -> files of tests, with wildcards."""

SWAPS = {
    "==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "+": "-", "-": "+", "*": "+", "/": "*",
    "//": "*", "%": "+", "&": "|", "|": "&", "^": "&", "<<": ">>", ">>": "<<", "&&": "||", "||": "&&", "and": "or",
    "or": "and", "+=": "-=", "-=": "+=", "|=": "&=", "&=": "|=", "++": "--", "--": "++", "is": "is not",
    "is not": "is", "in": "not in", "not in": "in",
}  # fmt: skip

LONGEST = 900
"""Seconds of a file of tests."""

_NO_TESTS = 5
"""Exit code of pytest: all tests have the mark full."""

_C_TOKEN = re.compile(
    r"""(?P<skip>/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:\\\n|[^\n])*|\s+)|(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
    r"""|(?P<number>\d[\w.]*)|(?P<name>[A-Za-z_]\w*)|(?P<sign>->|<<=|>>=|<<|>>|[-+&|<>=!]=|\+\+|--|&&|\|\||.)""",
    re.DOTALL | re.MULTILINE,
)
_LOGS = re.compile(r"\w*(?:log|warn|print|note|message_to)\w*$")
_NOT_REMOVED = {"return", "case", "default", "typedef", "struct", "else", "do", "static", "const", "goto"}


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One change: the characters from start of a file (a byte is a character) become new."""

    path: str
    line: int
    start: int
    old: str
    new: str
    kind: str

    def key(self) -> tuple[str, int, str, str]:
        return self.path, self.start, self.old, self.new

    def apply(self, source: str) -> str:
        assert source.startswith(self.old, self.start)
        return source[: self.start] + self.new + source[self.start + len(self.old) :]


def mutants(path: str, source: str) -> list[Mutant]:
    """All changes of a file, whose text was read as latin-1."""
    changes = _python_changes(source) if path.endswith(".py") else _c_changes(source)
    return [
        Mutant(path=path, line=source.count("\n", 0, start) + 1, start=start, old=source[start:end], new=new, kind=kind)
        for start, end, new, kind in sorted(set(changes))
    ]


Change = tuple[int, int, str, str]


def _c_changes(source: str) -> Iterator[Change]:
    tokens = [found for found in _C_TOKEN.finditer(source) if found.lastgroup != "skip"]
    words = [found[0] for found in tokens]
    ends = _closing(words)
    depth, begins, quiet = 0, 0, -1  # quiet: the last token of the arguments of a log
    for i, (token, word) in enumerate(zip(tokens, words, strict=True)):
        depth += (word == "{") - (word == "}")
        if word in "{};":
            if word == ";" and depth and begins < i and i > quiet:
                yield from _c_removal(source, tokens[begins : i + 1])
            begins = i + 1
        if _LOGS.match(word) and words[i + 1 : i + 2] == ["("]:
            quiet = max(quiet, ends.get(i + 1, i))
        if i <= quiet or not depth:
            continue
        after_value = tokens[i - 1].lastgroup in ("number", "name") or words[i - 1] in (")", "]")
        if token.lastgroup == "number" and re.fullmatch(r"\d+[uUlL]*", word):
            digits = re.match(r"\d+", word)
            yield token.start(), token.end(), f"{int(digits[0]) + 1}{word[digits.end() :]}", "constant"
        elif word in SWAPS and (after_value or word in ("++", "--")):
            yield token.start(), token.end(), SWAPS[word], "operator"
        elif word in ("if", "while") and i + 1 in ends:
            inside = tokens[i + 1].end(), tokens[ends[i + 1]].start()
            yield *inside, f"!({source[slice(*inside)]})", "condition"


def _c_removal(source: str, statement: list[re.Match[str]]) -> Iterator[Change]:
    words = [found[0] for found in statement]
    call_or_value = words[1:2] in (["("], ["="]) or {"->", ".", "[", "+=", "-=", "|="} & {*words} or words[0] == "break"
    if (
        words[0] not in _NOT_REMOVED
        and statement[0].lastgroup == "name"
        and call_or_value
        and words[0] not in ("if", "for")
    ):
        start, end = statement[0].start(), statement[-1].end()
        yield start, end, ";" + "\n" * source.count("\n", start, end), "statement"


def _closing(words: list[str]) -> dict[int, int]:
    """Index of each opening parenthesis -> index of the closing one."""
    opened: list[int] = []
    ends = {}
    for i, word in enumerate(words):
        if word == "(":
            opened.append(i)
        elif word == ")" and opened:
            ends[opened.pop()] = i
    return ends


def _python_changes(source: str) -> Iterator[Change]:
    lines = [0]
    for line in source.split("\n"):
        lines.append(lines[-1] + len(line) + 1)

    def span(node: ast.AST) -> tuple[int, int]:
        return lines[node.lineno - 1] + node.col_offset, lines[node.end_lineno - 1] + node.end_col_offset

    def between(left: ast.AST, right: ast.AST) -> Iterator[Change]:
        begin, end = span(left)[1], span(right)[0]
        code = re.sub(r"#[^\n]*", lambda found: " " * len(found[0]), source[begin:end])
        found = re.search(r"\b(?:is not|not in|is|in|and|or)\b|<<|>>|//|[=!<>]=|[-+*/%&|^<>]", code)
        if found and found[0] in SWAPS:
            yield begin + found.start(), begin + found.end(), SWAPS[found[0]], "operator"

    for node in _code(ast.parse(source.encode("latin-1"))):
        match node:
            case ast.BinOp(left=left, right=right):
                yield from between(left, right)
            case ast.Compare(left=left, comparators=others):
                for one, other in pairwise([left, *others]):
                    yield from between(one, other)
            case ast.BoolOp(values=values):
                for one, other in pairwise(values):
                    yield from between(one, other)
            case ast.Constant(value=value) if isinstance(value, int):
                yield *span(node), str(not value if isinstance(value, bool) else value + 1), "constant"
            case ast.If(test=test) | ast.While(test=test):
                start, end = span(test)
                yield start, end, f"(not ({source[start:end]}))", "condition"
            case ast.IfExp(body=body, orelse=other):
                start, (middle, test), end = span(body)[0], (span(body)[1], span(other)[0]), span(other)[1]
                swapped = source[test:end] + source[middle:test] + source[start:middle]
                yield start, end, swapped, "branch"
            case ast.AugAssign() | ast.Assign() | ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom()):
                start, end = span(node)
                yield start, end, "pass" + "\n" * source.count("\n", start, end), "statement"
            case ast.Continue() | ast.Break():
                yield *span(node), "pass", "statement"


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below a node, without annotations, decorators, texts for users and imports for types."""
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            types_only = (
                isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING"
            )
            if not isinstance(child, ast.AST) or name in ("annotation", "returns", "decorator_list") or types_only:
                continue
            if not isinstance(child, (ast.Raise, ast.JoinedStr)):
                yield child
                yield from _code(child)


def drawn(root: Path, seed: int) -> Iterator[Mutant]:
    """All mutants of the areas in random order, the same for a seed, as many of each kind as of the others."""
    by_kind: dict[str, list[Mutant]] = {}
    for area in AREAS:
        for path in sorted((root / area).rglob("*")):
            if path.suffix in (".py", ".c", ".h"):
                for mutant in mutants(str(path.relative_to(root)), path.read_text("latin-1")):
                    by_kind.setdefault(mutant.kind, []).append(mutant)
    chance = random.Random(seed)
    for kind in sorted(by_kind):
        chance.shuffle(by_kind[kind])
    while by_kind:
        kind = chance.choice(sorted(by_kind))
        yield by_kind[kind].pop()
        if not by_kind[kind]:
            del by_kind[kind]


class Copy:
    """The clone with the changes: builds it and runs files of tests in it."""

    def __init__(self, work: Path) -> None:
        self.root = work / "copy"
        self.times = Lines(work / "times.jsonl")
        if not self.root.exists():
            work.mkdir(parents=True, exist_ok=True)
            _run(["git", "clone", "-q", str(ROOT), str(self.root)], ROOT)
        _run(["git", "fetch", "-q", str(ROOT), "HEAD"], self.root)
        _run(["git", "reset", "-q", "--hard", "FETCH_HEAD"], self.root)
        self.temporary = work / "tmp"
        # Tests run commands without VT_SHIM_CACHE. A changed shim must not stay in the user's cache.
        # The installed commands look for vtrace in VTRACE_PYTHONPATH first, and not in PYTHONPATH.
        sources = str(self.root / "src")
        places = {"XDG_CACHE_HOME": str(work / "cache"), "PYTHONPATH": sources, "VTRACE_PYTHONPATH": sources}
        self.environment = os.environ | places | {"PYTHONDONTWRITEBYTECODE": "1"}
        _run(["cmake", "-S", ".", "-B", "build", "-DCMAKE_BUILD_TYPE=Release"], self.root)
        assert self.build(), "the sources do not compile without a change"
        self.objects = self._objects()
        self.shim = ""

    def build(self) -> bool:
        """Builds the C libraries and puts them where the tests find them."""
        if _run(["cmake", "--build", "build"], self.root, check=False):
            return False
        # cmake takes files with times less than a second apart for equal, so that a change could stay.
        shutil.rmtree(self.root / "src/vtrace/_lib", ignore_errors=True)
        return _run(["cmake", "--install", "build", "--prefix", "src"], self.root, check=False) == 0

    def differs(self, mutant: Mutant, original: bytes) -> bool:
        """Whether the applied change compiles, and to other code than the original."""
        if mutant.path.endswith(".py"):
            try:
                return ast.dump(ast.parse((self.root / mutant.path).read_bytes())) != ast.dump(ast.parse(original))
            except SyntaxError:
                return False
        if mutant.path.startswith("csrc/mpiwrap"):
            return self.build() and self._shim() not in ("", self.shim)
        return self.build() and self._objects() != self.objects

    def before(self, mutant: Mutant) -> None:
        """What the comparison by differs() needs of the sources without a change."""
        if mutant.path.startswith("csrc/mpiwrap") and not self.shim:
            self.shim = self._shim()

    def _objects(self) -> str:
        libraries = sorted((self.root / "src/vtrace/_lib").glob("lib*"))
        return hashlib.sha256(b"".join(path.read_bytes() for path in libraries)).hexdigest()

    def _shim(self) -> str:
        """The code of the MPI shim; empty if the shim does not compile."""
        installed = Path(sys.executable).parent
        words = [str(installed / "vtrace"), "shim", "build", "--mpicc", str(installed / "mpicc")]
        done = subprocess.run(words, cwd=self.root, env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode:
            return ""
        sections = [f"--section={name}" for name in (".text", ".vtrace.text", ".rodata", ".data")]
        dump = ["objdump", "-d", "-s", *sections, done.stdout.strip()]
        code = subprocess.run(dump, capture_output=True, text=True, check=True).stdout.split("\n", 3)[3]
        return hashlib.sha256(code.encode()).hexdigest()

    def test(self, file: str, limit: float) -> tuple[int | None, float]:
        """Exit code of a file of tests, None after a time-out, and seconds."""
        words = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            f"--basetemp={self.temporary}",
            file,
        ]
        began = time.monotonic()
        process = subprocess.Popen(
            words, cwd=self.root, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # with the servers that tests leave
        process.wait()
        shutil.rmtree(self.temporary, ignore_errors=True)
        return code, time.monotonic() - began

    def passes(self, file: str) -> bool:
        """Whether a file of tests passes without a change."""
        if file not in self.known():
            code, seconds = self.test(file, LONGEST)
            self.times.add({"file": file, "passes": code == 0, "seconds": round(seconds, 1)})
        return bool(self.known()[file]["passes"])

    def known(self) -> dict[object, dict[str, object]]:
        """The files of tests that ran without a change."""
        return {line["file"]: line for line in self.times.all}


class Lines:
    """A file with a JSON object a line, which grows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.all = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def add(self, line: dict[str, object]) -> dict[str, object]:
        self.all.append(line)
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")
        return line


def area(path: str) -> str:
    """The area of a source."""
    return next(name for name in AREAS if path.startswith(f"{name}/"))


def concerned(root: Path, path: str, times: dict[str, float]) -> list[str]:
    """The files of tests for a source, the first to run first."""
    source = Path(path)
    if source.suffix == ".py":
        module = re.escape(".".join(source.with_suffix("").parts[1:]).removesuffix(".__init__"))
        package, _, name = module.rpartition(r"\.")
        names = re.compile(rf"\b{module}\b|\bfrom {package} import .*\b{name}\b")
    else:
        names = re.compile(rf"\b{re.escape(source.name)}\b")
    tests = root / "tests"
    named = [file for file in sorted(tests.glob("*/test_*.py")) if names.search(file.read_text())]
    table = [file for pattern in TESTS[area(path)].split() for file in sorted(tests.glob(f"{pattern}.py"))]
    words = {word.rstrip("s") for word in source.stem.split("_")}

    def shares(file: Path) -> bool:
        return bool(words & {word.rstrip("s") for word in file.stem.split("_")[1:]})

    def rank(file: Path) -> tuple[bool, bool, bool, float]:
        name = str(file.relative_to(root))
        return file not in named, not shares(file), file.parent.name != "unit", times.get(name, 1e3)

    alike = [file for file in sorted(tests.glob("*/test_*.py")) if shares(file)]
    return [str(file.relative_to(root)) for file in sorted(dict.fromkeys([*named, *table, *alike]), key=rank)]


def tried(copy: Copy, mutant: Mutant) -> dict[str, object]:
    """The line of results of a mutant; its result is found, survived or none (no mutant)."""
    source = copy.root / mutant.path
    original = source.read_bytes()
    changed = mutant.apply(original.decode("latin-1")).encode("latin-1")
    copy.before(mutant)
    known = copy.known()
    files = concerned(copy.root, mutant.path, {file: line["seconds"] for file, line in known.items()})
    line: dict[str, object] = asdict(mutant) | {"result": "survived", "by": None, "timeout": False, "files": len(files)}
    try:
        source.write_bytes(changed)
        if not copy.differs(mutant, original):
            return line | {"result": "none"}
        for file in files:
            if file in known and not known[file]["passes"]:
                continue
            code, _ = copy.test(file, 60 + 4 * known[file]["seconds"] if file in known else LONGEST)
            if code in (0, _NO_TESTS):
                continue
            source.write_bytes(original)
            _rebuild(copy, mutant)
            if copy.passes(file):
                return line | {"result": "found", "by": file, "timeout": code is None}
            source.write_bytes(changed)
            _rebuild(copy, mutant)
        return line
    finally:
        source.write_bytes(original)
        _rebuild(copy, mutant)


def _rebuild(copy: Copy, mutant: Mutant) -> None:
    if mutant.path.startswith("csrc/"):
        copy.build()


def survivors_again(copy: Copy, results: Lines) -> None:
    """Runs all other files of tests for each survivor, and writes its new line."""
    for line in [*_last(results).values()]:
        if line["result"] == "survived":
            TESTS[area(line["path"])] = "*/test_*"
            results.add(tried(copy, Mutant(**{name: line[name] for name in Mutant.__dataclass_fields__})))


def _last(results: Lines) -> dict[tuple[object, ...], dict[str, object]]:
    """The last line of each mutant."""
    return {(line["path"], line["start"], line["old"], line["new"]): line for line in results.all}


def report(results: Lines) -> None:
    """Prints found/total by area, and the survivors."""
    last = [line for line in _last(results).values() if line["result"] != "none"]
    total = Counter(area(line["path"]) for line in last)
    found = Counter(area(line["path"]) for line in last if line["result"] == "found")
    for name in AREAS:
        print(f"{name:22} {found[name]:4} / {total[name]}")
    print(f"{'all':22} {found.total():4} / {total.total()}")
    for line in last:
        if line["result"] == "survived":
            print(f"{line['path']}:{line['line']}: {line['kind']}: {line['old']!r} -> {line['new']!r}")


def _run(words: list[str], where: Path, check: bool = True) -> int:
    done = subprocess.run(words, cwd=where, capture_output=True, text=True, check=False)
    if check and done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr or done.stdout}")
    return done.returncode


def main() -> None:
    """Tries mutants until there are --count."""
    parser = argparse.ArgumentParser(description="Measure how many random changes of the sources the tests find.")
    parser.add_argument("--count", type=int, default=150, help="number of mutants [default: 150]")
    parser.add_argument("--seed", type=int, default=1, help="which mutants [default: 1]")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "mutants", help="directory of results and clone")
    parser.add_argument("--all", action="store_true", help="run all tests for the survivors so far")
    parser.add_argument("--report", action="store_true", help="only print the results so far")
    options = parser.parse_args()
    work = options.work.resolve()
    results = Lines(work / f"results-{options.seed}.jsonl")
    if not options.report:
        copy = Copy(work)
        if options.all:
            survivors_again(copy, results)
        done = _last(results)
        drawing = drawn(copy.root, options.seed)
        while sum(line["result"] != "none" for line in done.values()) < options.count:
            mutant = next(drawing, None)
            if mutant is None:
                break
            if mutant.key() not in done:
                done[mutant.key()] = results.add(tried(copy, mutant))
    report(results)


if __name__ == "__main__":
    main()
