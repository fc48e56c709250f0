# SPDX-License-Identifier: BSD-3-Clause
"""Shared by the tests: build a program, run and unify it, read and check the archive."""
