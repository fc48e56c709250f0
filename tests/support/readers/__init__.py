# SPDX-License-Identifier: BSD-3-Clause
"""Readers of archives, local files, reports and pages that do not use vtrace's own readers.

archive.py reads archives with two readers of OTF2, words.py local files; each other file reads one kind of text. Text
that the writer should not write is an assertion error.
"""
