# SPDX-License-Identifier: BSD-3-Clause
"""Merging: the definitions of all processes become those of the archive."""
