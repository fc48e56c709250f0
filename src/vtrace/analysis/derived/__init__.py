# SPDX-License-Identifier: BSD-3-Clause
"""Derived events: values that formulas compute from recorded counters. Files of PAPI's syntax define the formulas.

event_file.py reads a file, formulas.py one formula, event_set.py computes values, event_check.py finds errors.
"""
