# SPDX-License-Identifier: BSD-3-Clause
"""Local files and archives with content that a test chooses.

local_files.py writes every byte of local files, run_files.py the files of whole processes, archives.py archives with
libotf2; the other files write one certain run. Times and counts are exact.
"""
