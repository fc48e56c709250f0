# SPDX-License-Identifier: BSD-3-Clause
"""Shared by local files and archives: files of commands, names of enumerations, one copy of equal values.

outfile.py owns the files that commands write, enumerations.py OTF2's names, interning.py equal values, arrays.py arrays
over memory of C.
"""
