# SPDX-License-Identifier: BSD-3-Clause
"""Shared by the tests: building and running programs, unifying, reading and checking archives.

Each package has one purpose (CONTRIBUTING.md). tools.py starts commands and decides if a missing tool skips or fails a
test. No module here tests by itself; wrong results in checkers are assertion errors.
"""
