# SPDX-License-Identifier: BSD-3-Clause
"""OTF2 archives: writing one, and reading one of any tool.

writer.py owns the files that are written, reader.py and batches.py the events that are read, definitions.py the ids.
Errors of libotf2 become VtraceError or FormatError.
"""
