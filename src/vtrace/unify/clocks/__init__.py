# SPDX-License-Identifier: BSD-3-Clause
"""Clocks: converts the ticks of all processes to one time, in which no message runs backwards."""
