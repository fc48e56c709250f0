# SPDX-License-Identifier: BSD-3-Clause
"""Resolves addresses in code to functions and lines.

symbols.py owns the functions of addresses, stack_frames.py the inlined functions and lines of stacks, loop_source.py
the loops. A missing, changed or damaged file gives a warning, and names such as heat+0x12.
"""
