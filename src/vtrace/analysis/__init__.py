# SPDX-License-Identifier: BSD-3-Clause
"""An OTF2 archive of any tool as a source of batches, and the base of all questions about the archive.

scan.py owns the passes over the events, replay.py the stack of a location, questions/ the answers of one pass.
Times are int64, in ns since the start of the archive; a reference to a definition is a row of its table, -1: none.
"""
