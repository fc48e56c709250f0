# SPDX-License-Identifier: BSD-3-Clause
"""Damaged files, killed programs, and commands with limited memory and time."""
