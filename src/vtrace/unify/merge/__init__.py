# SPDX-License-Identifier: BSD-3-Clause
"""Merging: turns the definitions of all processes into those of the archive.

merge.py owns the phase and alone communicates; each other file owns one kind of definition as a step. Equal definitions
of several processes become one. The result does not depend on the number of ranks.
"""
