# SPDX-License-Identifier: BSD-3-Clause
"""mpiP's environment variable MPIP: the options of its report, and the settings of vtrace that its options of the
recording stand for."""

from __future__ import annotations

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the cost of importing typing
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "MPIP"
VALUED = ("-f", "-k", "-s", "-t", "-x")
"""Options that a value follows."""
FLAGS = ("-c", "-d", "-e", "-n", "-p", "-v", "-y", "-z")
MEANINGS = {
    "-ba": "the barriers are recorded, not added later: VT_MPI_BARRIER=after, or both with -bb",
    "-bb": "the barriers are recorded, not added later: VT_MPI_BARRIER=before, or both with -ba",
    "-g": "mpiP's debug mode: VT_VERBOSE=3 is that of vtrace",
    "-l": "a report from a trace needs no memory of the ranks",
    "-r": "a report from a trace always comes from one process, as with -r",
}
"""Options without effect on the report, and what stands for them here."""
_OFF = "recording starts on: call MPI_Pcontrol(0) after MPI_Init"


def options(environ: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """The options of the report in MPIP as separate words, and lines about the others."""
    found, said = [], []
    rest = iter(environ.get(NAME, "").split())
    for word in rest:
        short = word[:2]
        if word in MEANINGS or word == "-o":
            said.append(f"{NAME}: {word}: {MEANINGS.get(word, _OFF)}")
        elif short in VALUED and (value := word[2:] or next(rest, "")):
            found += [short, value]
        elif word in FLAGS:
            found.append(word)
        else:
            said.append(f"{NAME}: {word}: mpiP has no such option, or its value is missing: ignored")
    return found, said


def wants_report(environ: Mapping[str, str]) -> bool:
    """Whether a run ends with a report: MPIP is set, without -z."""
    return NAME in environ and "-z" not in environ[NAME].split()


def apply(environ: dict[str, str]) -> None:
    """Adds the settings that the options -k, -ba and -bb stand for, unless they are set."""
    if NAME not in environ:
        return
    words, given = environ[NAME].split(), options(environ)[0]
    depth = given[given.index("-k") + 1] if "-k" in given else "1"
    environ.setdefault("VT_MPI_CALLSITES", depth if depth.isdecimal() else "1")
    if "-ba" in words or "-bb" in words:
        where = "both" if "-ba" in words and "-bb" in words else "after" if "-ba" in words else "before"
        environ.setdefault("VT_MPI_BARRIER", where)
