# SPDX-License-Identifier: BSD-3-Clause
"""Clocks: converts the ticks of all processes to one time, in which no message runs backwards.

clocks.py owns the phase that aligns clocks, offsets.py the differences between clocks of hosts, repair.py the phase
that corrects messages between clocks. The first clock is the reference.
"""
