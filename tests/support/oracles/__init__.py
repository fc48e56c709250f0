# SPDX-License-Identifier: BSD-3-Clause
"""Slow and obvious checkers: the same answers as those of vtrace, found another way."""
