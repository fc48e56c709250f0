# SPDX-License-Identifier: BSD-3-Clause
"""Slow and simple checkers, which compute vtrace's results by other algorithms.

check.py has the invariants of every archive; the files slow*.py compute the results of a command or reader from all
events. No oracle uses vtrace's own readers or kernels.
"""
