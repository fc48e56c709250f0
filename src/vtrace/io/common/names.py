# SPDX-License-Identifier: BSD-3-Clause
"""Names of the files of an archive."""

from __future__ import annotations

ANCHOR = "traces.otf2"
"""The anchor file in an archive's directory."""
PACKED = ".vtz"
"""The ending of a packed archive's name."""
BY_RUN = "vtrace/by_run"
"""An empty file in each archive that vtrace run has written: the next run of this name may replace the archive."""
JOB = "vtrace/job"
"""A file in the archive of a run with vtrace run --always: the run's row of vtrace jobs, as JSON."""
