# SPDX-License-Identifier: BSD-3-Clause
"""Clocks: the ticks of all processes become one time, in which no message runs backwards."""
