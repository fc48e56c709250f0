# SPDX-License-Identifier: BSD-3-Clause
"""The completeness of each location's recording, and its description in the archive.

account.py owns the phase, coverage.py the facts about a location, ledger_intervals.py the table of intervals,
archive_texts.py properties, markers and warnings. Only rank 0 has the whole account.
"""
