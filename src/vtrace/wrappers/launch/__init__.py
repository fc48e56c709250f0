# SPDX-License-Identifier: BSD-3-Clause
"""vtrace run: what it preloads into which program, and how it starts that."""
