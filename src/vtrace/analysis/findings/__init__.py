# SPDX-License-Identifier: BSD-3-Clause
"""Findings: diagnosed losses of time, and the questions that only they ask."""
