# SPDX-License-Identifier: BSD-3-Clause
"""The ledger's reasons for intervals without recording, their texts, and settings that avoid the losses.

The unifier writes the reasons into an archive, and the commands read them there."""

from __future__ import annotations

from typing import NamedTuple


class Loss(NamedTuple):
    """A reason for which events are lost."""

    name: str
    """The reason in the ledger; a setting, if the setting is the limit."""
    words: str
    """The text after a number of lost events."""
    stop: str = ""
    """The limit at which a location stops for this reason; "" if it does not stop."""
    keeps: str = ""
    """Settings that keep such events in the next run."""


def _limit(setting: str, keeps: str) -> Loss:
    return Loss(setting, f"beyond the limit {setting}", setting, f"{keeps} keeps them")


LOSSES = {
    "SIGNAL": Loss("signal handler", "in signal handlers that interrupted recording"),
    "MEMORY": Loss("no memory", "without memory", "the end of memory or disk space"),
    "WRITE": Loss("not written", "not written", "files that could not be written"),
    "LIMIT": _limit("VT_MAX_FLUSHES", "VT_MAX_FLUSHES=0 or a larger VT_BUFFER_SIZE"),
    "THREAD": Loss("threads without a location", "of threads that are not recorded"),
    "SIZE": _limit("VT_MAX_SIZE", "a larger VT_MAX_SIZE or VT_FILTER_SPEC"),
    "BUDGET": _limit("VT_BUDGET", "a larger VT_BUDGET or VT_FILTER_SPEC"),
    "FILE": Loss("files missing", "in files that are missing"),
    "DAMAGE": Loss("damaged", "in damaged files"),
    "ROW": Loss("VT_PROFILE_SIZE", "in call paths beyond VT_PROFILE_SIZE, or more than 1024 calls deep"),
}
"""Name of VT_LOST_REASONS in csrc/core/format.h, FILE and DAMAGE of unify/model/missing_records.py,
or ROW of unify/model/profiles.py -> reason."""

SMALL_DISK = _limit("VT_MAX_SIZE", "VT_PFORM_GDIR on a larger disk, a set VT_MAX_SIZE or VT_FILTER_SPEC")
"""SIZE, if the runtime derived the limit from the free space."""

OFF, FLUSH, OVERWRITTEN = "switched off", "flush", "overwritten"
START_AFTER, STOP_AFTER = "VT_START_AFTER", "VT_STOP_AFTER"
THINNED = "VT_BUDGET: calls below "
"""The start of the reason for calls that are only counted; their length follows."""
UNKEPT = "VT_KEEP"
"""The reason for iterations in which calls are only counted."""
OVERHEAD = "VT_BUDGET: without "
"""The start of the reason for functions that are left out, since recording took too much time; their names follow."""
ONLY_CALLS = "VT_BUDGET: only the number of calls of "
"""The same for functions whose calls are still counted."""
COUNTING = "VT_BUDGET: to count a call takes "
"""The start of the reason that states the cost of such a count; the time follows."""
EXCEEDED = "VT_BUDGET: recording takes "
"""The start of the reason for time that recording takes beyond VT_BUDGET, since no function can be left out; the part
of a thread's time follows."""
NOT_LOST = (THINNED, UNKEPT, OVERHEAD, ONLY_CALLS, COUNTING, EXCEEDED)
"""Starts of the reasons for calls that VT_BUDGET and VT_KEEP leave out of the events."""
GAPS = {
    "OFF": OFF, "REWOUND": "rewound", "RING": OVERWRITTEN, "FLUSH": FLUSH, "DAMAGE": LOSSES["DAMAGE"].name,
    "LEFT_OUT": UNKEPT, "THINNED": THINNED,
}  # fmt: skip
"""Name of VT_GAP_REASONS in csrc/otf2_writer/transcode.h -> reason in the ledger."""

NO_SAMPLES = {"signal": "the program uses the signal", "timer": "no timer", "memory": "no memory"}
"""Reasons for a location without samples; the word is that of csrc/sampling/sampler.c."""
SAMPLES = "samples"
"""The class of the ledger's intervals without samples."""
COUNTERS = "counters"
"""The class of the ledger's intervals without counters; the reason is the kernel's."""
MISSING_VALUES = (SAMPLES, COUNTERS)
"""Classes of intervals that have all events; their samples or counters are missing."""

CUT = "cut"
"""Halves that vtrace cut leaves out because the other half is not in the part."""

CHOSEN = frozenset((START_AFTER, STOP_AFTER, CUT, *(name for key, name in GAPS.items() if key not in LOSSES)))
"""Reasons that the user chose, so that nothing was lost. vtrace.left_out.WHOLE_RUN has the others."""

WITHOUT_SAMPLES = "the samples of the run are left out"
"""Starts the line about an archive that has all calls but lacks its samples."""

AS_PROFILE = "recorded as a profile (VT_MODE=PROFILE): calls and times by call path, no single events"
"""The line above the numbers of an archive without events."""
RECORD_EVENTS = "record the run without --profile-only and VT_MODE=PROFILE"
"""The remedy, where a command needs events."""
