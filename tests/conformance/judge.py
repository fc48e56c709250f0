# SPDX-License-Identifier: BSD-3-Clause
"""Checks the output of a test, and the archive of a traced run."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import _otf2
import otf2

from conformance.job import TIMEOUT, Ended, run
from conformance.suite import Line
from support.oracles.check import check
from support.tools import need

LARGE = 6_000_000
"""Bytes of event files; for larger archives only otf2-print reads the events, and messages are counted, not matched."""

OPEN_ENDS = {
    "errors/": "calls fail on some ranks on purpose",
    "pt2pt/rqfreeb": "a receive whose request is freed: MPI does not report its completion",
    "pt2pt/issendselfcancel": "a send that is cancelled and freed: MPI does not report which came first",
}
"""Start of directory/program -> reason why messages and collectives of these tests may lack an end."""

KNOWN: dict[str, str] = {}
"""Start of directory/program -> reason why these tests differ with vtrace; they do not make the command fail."""


def listed(line: Line, table: dict[str, str]) -> str:
    """The reason in a table for the test, or an empty text."""
    name = f"{line.directory}/{line.program}"
    return next((reason for start, reason in table.items() if name.startswith(start)), "")


_NO_ERRORS = re.compile(r"^\s*No [Ee]rrors\s*$", re.MULTILINE)
_OURS = re.compile(r"^(?:vtrace|vtunify)\b.*\n?", re.MULTILINE)
_PASSED = {"": (True, True), "TestStatus": (False, False), "TestErrFatal": (False, False),
           "TestStatusNoErrors": (False, True)}  # fmt: skip
"""The suite's kind of result -> True if the exit code must be 0, True if the test must print No Errors."""


def passes(line: Line, ended: Ended) -> str:
    """Empty if the test passes by the suite's rules, else the reason."""
    succeeds, says = _PASSED[line.expect]
    if ended.code == TIMEOUT:
        return f"no end within {line.limit} s"
    if succeeds != (ended.code == 0):
        return f"exit code {ended.code}: {_last(ended)}"
    if says and not _NO_ERRORS.search(ended.out):
        return f"does not print No Errors: {_last(ended)}"
    return ""


def _last(ended: Ended) -> str:
    lines = [line.strip() for line in (ended.out + ended.err).splitlines() if line.strip()]
    return next((line for line in lines if "rror" in line and not _NO_ERRORS.match(line)), (lines or ["no output"])[0])


def ours(ended: Ended) -> str:
    """The messages of vtrace itself, without its closing line."""
    said = [line for line in ended.err.splitlines() if _OURS.match(line)]
    return "\n".join(line for line in said if " recorded" not in line and "vtunify " not in line)


def same_output(plain: Ended, traced: Ended) -> bool:
    """True if both printed the same lines, except vtrace's. The order may differ, as ranks print in any order."""
    return all(
        sorted(_OURS.sub("", one).splitlines()) == sorted(_OURS.sub("", other).splitlines())
        for one, other in ((plain.out, traced.out), (plain.err, traced.err))
    )


def judge_archive(cwd: Path, prefix: str, complete: bool, env: Mapping[str, str], bin: Path) -> tuple[str, int]:
    """Unifies and checks a run. Returns a text about an error, or an empty text; and the archive's number of events.

    complete: the program ended normally, so that messages must have both ends and collectives all members. bin: the
    directory of vtunify.
    """
    done = run([bin / "vtunify", prefix], cwd, env, 300)
    if done.code != 0:
        return f"vtunify, exit code {done.code}: {' / '.join((done.err or done.out).strip().splitlines()[-3:])}", 0
    archive = cwd / f"{prefix}.trace"
    with otf2.reader.open(str(archive / "traces.otf2")) as reader:
        known = {name: json.loads(_otf2.Reader_GetProperty(reader.handle, f"VTRACE::{name}"))
                 for name in ("EVENTS", "COVERAGE")}  # fmt: skip
    events = sum(known["EVENTS"].values())
    if complete and not known["COVERAGE"]["complete"]:
        return f"not complete: {known['COVERAGE']['shortfalls']}", events
    try:
        if sum(path.stat().st_size for path in (archive / "traces").glob("*.evt")) > LARGE:
            return judge_large(archive, events, complete), events
        check(archive, complete)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip()[:600]}", events
    return "", events


def judge_large(archive: Path, events: int, complete: bool) -> str:
    """Checks a large archive with otf2-print: the number of events, sends and receives. Returns a text about an
    error, or an empty text."""
    kinds: Counter[str] = Counter()
    with subprocess.Popen([need("otf2-print"), "-Werror", archive / "traces.otf2"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace") as shown:  # fmt: skip
        assert shown.stdout is not None
        for text in shown.stdout:
            match = re.match(r"([A-Z][A-Z0-9_]+) +\d+ +\d+  ", text)
            kinds[match[1] if match else ""] += 1
    if shown.returncode != 0:
        return f"otf2-print: exit code {shown.returncode}"
    printed = sum(n for kind, n in kinds.items() if kind)
    if printed != events:
        return f"otf2-print reads {printed} events of {events}"
    sent = kinds["MPI_SEND"] + kinds["MPI_ISEND"]
    received = kinds["MPI_RECV"] + kinds["MPI_IRECV"]
    if complete and not 0 <= sent - received <= kinds["MPI_REQUEST_CANCELLED"]:
        return f"{sent} messages sent, {received} received"
    return ""
