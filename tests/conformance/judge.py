# SPDX-License-Identifier: BSD-3-Clause
"""Judges what a test printed and the archive of a traced run."""

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
from support.tools import BIN, need

LARGE = 6_000_000
"""Bytes of events; a larger archive is read by otf2-print alone, and its messages are counted, not paired."""

OPEN_ENDS = {
    "errors/": "calls that fail on some of the ranks, as they are meant to",
    "pt2pt/rqfreeb": "a receive whose request is freed: MPI tells nobody that it is complete",
    "pt2pt/issendselfcancel": "a send that is cancelled and then freed: MPI tells nobody which of both came first",
}
"""Tests, by the beginning of directory/program, whose messages and collectives need not have all ends, and why."""

KNOWN: dict[str, str] = {}
"""Tests, in the same way, that are known to differ with vtrace, and why: these do not make the command fail."""


def listed(line: Line, table: dict[str, str]) -> str:
    """The reason that a table has for the test, or nothing."""
    name = f"{line.directory}/{line.program}"
    return next((reason for start, reason in table.items() if name.startswith(start)), "")


_NO_ERRORS = re.compile(r"^\s*No [Ee]rrors\s*$", re.MULTILINE)
_OURS = re.compile(r"^(?:vtrace|vtunify)\b.*\n?", re.MULTILINE)
_PASSED = {"": (True, True), "TestStatus": (False, False), "TestErrFatal": (False, False),
           "TestStatusNoErrors": (False, True)}  # fmt: skip
"""Of the suite's kinds of result: whether the exit code must be 0, and whether the test must say No Errors."""


def passes(line: Line, ended: Ended) -> str:
    """Empty where the suite would call it passed, else why not."""
    succeeds, says = _PASSED[line.expect]
    if ended.code == TIMEOUT:
        return f"no end within {line.limit} s"
    if succeeds != (ended.code == 0):
        return f"exit code {ended.code}: {_last(ended)}"
    if says and not _NO_ERRORS.search(ended.out):
        return f"does not say No Errors: {_last(ended)}"
    return ""


def _last(ended: Ended) -> str:
    lines = [line.strip() for line in (ended.out + ended.err).splitlines() if line.strip()]
    return next((line for line in lines if "rror" in line and not _NO_ERRORS.match(line)), (lines or ["no output"])[0])


def ours(ended: Ended) -> str:
    """What vtrace itself said, without its closing line."""
    said = [line for line in ended.err.splitlines() if _OURS.match(line)]
    return "\n".join(line for line in said if " recorded" not in line and "vtunify " not in line)


def same_output(plain: Ended, traced: Ended) -> bool:
    """Whether both printed the same lines, in any order: that of the ranks is open. vtrace's lines do not count."""
    return all(
        sorted(_OURS.sub("", one).splitlines()) == sorted(_OURS.sub("", other).splitlines())
        for one, other in ((plain.out, traced.out), (plain.err, traced.err))
    )


def judge_archive(cwd: Path, prefix: str, complete: bool, env: Mapping[str, str]) -> tuple[str, int]:
    """Unifies; empty where the archive is consistent, else what is wrong; and the number of its events.

    complete: the program ended by itself, so that messages have both ends and collectives all members.
    """
    done = run([BIN / "vtunify", prefix], cwd, env, 300)
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
    """Lets otf2-print read all events; counts them, and both ends of messages."""
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
