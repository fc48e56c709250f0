# SPDX-License-Identifier: BSD-3-Clause
"""Exports a trace, or a part of it, for other programs.

formats.py owns CSV, Parquet and Chrome's JSON; perfetto*.py, speedscope.py and vtune.py own one format each. A file
gets its name when it is complete. Times are those of the trace, in the unit of the format.
"""
