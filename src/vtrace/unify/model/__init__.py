# SPDX-License-Identifier: BSD-3-Clause
"""The data that the phases pass on: a run, its processes, their files, definitions and clocks.

process.py owns a run, and a process with its files and the results of each phase, contents.py and
process_definitions.py the contents of its files, clock_curves.py its clock, context.py the request. Keys are a
process's own ids until merging.
"""
