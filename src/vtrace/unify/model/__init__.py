# SPDX-License-Identifier: BSD-3-Clause
"""One process of a run: its files, definitions and clock."""
