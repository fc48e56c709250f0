# SPDX-License-Identifier: BSD-3-Clause
"""Merging: turns the definitions of all processes into those of the archive."""
