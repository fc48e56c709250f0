# SPDX-License-Identifier: BSD-3-Clause
"""Packed archives, PREFIX.vtz: the blocks of the local files, the tables that turn them into the archive's events, and
the archive's other files. docs/file-format.md describes the file.

container.py owns the bytes, process_part.py the tables of a process, opened.py a file that is open for reading.
"""
