# SPDX-License-Identifier: BSD-3-Clause
"""Names of tables, rows and sort keys: the choices of options. This module loads no numpy, so --help starts fast."""

SUMMARY_TABLES = (
    "classes", "samples", "regions", "bytes", "messages", "collectives", "rma", "rma_synchronization", "devices",
    "kernels", "files", "variables", "directories", "layers", "heap", "counters", "coverage",
)  # fmt: skip
SUMMARY_SORTS = ("exclusive", "inclusive", "calls", "min", "mean", "max", "imbalance", "name")

COST_UNITS = ("function", "loop", "line", "callpath", "rank", "thread")
"""The rows that have times of calls and samples."""
METRIC_UNITS = ("function", "callpath", "rank", "thread", "section")
PROFILE_UNITS = (*COST_UNITS[:4], "section", *COST_UNITS[4:], "timer", "allocation")
PROFILE_SORTS = ("exclusive", "inclusive", "calls", "samples", "mpi", "barrier", "max", "name")
ALLOCATION_SORTS = ("never-freed", "peak", "bytes")
SECTION_METRICS = ("mpi", "memory")
TIMER_METRICS = ("perf.hh",)

DIFF_SORTS = ("exclusive", "inclusive", "calls")
