# SPDX-License-Identifier: BSD-3-Clause
"""Damaged files, killed programs, and commands with limited memory and time.

damaged_files.py damages local files, damaged_archives.py archives, kills.py kills programs, failing_calls.py injects
failures of system calls. A seed reproduces each random damage.
"""
