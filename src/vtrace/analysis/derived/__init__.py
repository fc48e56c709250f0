# SPDX-License-Identifier: BSD-3-Clause
"""Derived events: values that formulas compute from recorded counters. The formulas stand in files of PAPI's syntax."""
