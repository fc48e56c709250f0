# SPDX-License-Identifier: BSD-3-Clause
"""The definitions of all processes become those of the archive."""
