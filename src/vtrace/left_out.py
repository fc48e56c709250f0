# SPDX-License-Identifier: BSD-3-Clause
"""The classes of events that a run's VT_ settings exclude from its trace.

A setting excludes events if a run records fewer events than by default. csrc/core/settings_table.h marks such settings,
either for a part of the run (the local files contain the times) or for the whole run: this module lists the latter. A
class is a path in the tree of activities, or "processes"; + separates several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from vtrace.settings_file import NO, YES

Settings = Mapping[str, str]
"""Name -> value, as the runtime writes into the trace; a missing setting has its default."""

MPI_GROUPS = dict.fromkeys(("env", "cg", "topo", "spawn", "type", "ext", "err", "perf", "misc"), "mpi/management")
MPI_GROUPS |= dict.fromkeys(("p2p", "xnonblock", "request"), "mpi/p2p")
MPI_GROUPS |= {"coll": "mpi/collective", "rma": "mpi/rma", "io": "mpi/io"}
"""The groups that VT_MPI_GROUPS contains by default, and their classes."""


def _unless(name: str, kind: str) -> Callable[[Settings], str]:
    """For a setting that is on by default: a function that returns kind if the setting is off."""
    return lambda settings: kind if settings.get(name, "yes").lower() in NO else ""


def selects_all(patterns: str) -> bool:
    """True if VT_FUNCTIONS with these patterns selects all functions, also those without a name."""
    texts = [text.strip() for text in patterns.split(";") if text.strip()]
    for text in reversed(texts):
        if text.startswith("-"):
            return False
        if not text.strip("*"):  # one star or several
            return True
    return not texts


def _mpi_groups(settings: Settings) -> str:
    if "VT_MPI_GROUPS" not in settings or WHOLE_RUN["VT_MPITRACE"](settings):
        return ""
    on = settings["VT_MPI_GROUPS"].split(",")
    return "+".join(sorted({kind for group, kind in MPI_GROUPS.items() if group not in on}))


def _small_blocks(settings: Settings) -> str:
    recorded = settings.get("VT_MEMTRACE", "no").lower() not in NO
    return "memory" if recorded and settings.get("VT_MEMTRACE_THRESHOLD", "0") != "0" else ""


ANNOTATIONS = {"nvtx", "itt", "kokkos"}
"""The kinds of annotations, which vtrace run records by default (wrappers.launch.annotation_tools)."""


def _annotations(settings: Settings) -> str:
    kinds = settings.get("VT_ANNOTATIONS", "").lower()
    return "user" if kinds and kinds not in YES and ANNOTATIONS - {*kinds.split(",")} else ""


WHOLE_RUN: dict[str, Callable[[Settings], str]] = {
    "VT_FILTER_SPEC": lambda settings: "user" if settings.get("VT_FILTER_SPEC") else "",
    "VT_FUNCTIONS": lambda settings: "" if selects_all(settings.get("VT_FUNCTIONS", "")) else "user",
    "VT_ANNOTATIONS": _annotations,
    "VT_MAX_STACK_DEPTH": lambda settings: "user" if settings.get("VT_MAX_STACK_DEPTH", "0") != "0" else "",
    "VT_MPITRACE": _unless("VT_MPITRACE", "mpi"),
    "VT_MPI_GROUPS": _mpi_groups,
    "VT_OMPTRACE": _unless("VT_OMPTRACE", "openmp"),
    "VT_PTHREAD": _unless("VT_PTHREAD", "threads"),
    "VT_EXECTRACE": _unless("VT_EXECTRACE", "processes"),
    "VT_MEMTRACE_THRESHOLD": _small_blocks,
}
"""Settings that may exclude events during the whole run -> function of the run's settings that returns the excluded
classes, empty for none."""


def left_out(settings: Settings) -> Iterator[tuple[str, str]]:
    """Each setting that excludes events during the whole run, with the excluded classes."""
    for name, classes in WHOLE_RUN.items():
        if kind := classes(settings):
            yield name, kind
