# SPDX-License-Identifier: BSD-3-Clause
"""Slow and simple checkers, which compute vtrace's results by other algorithms."""
