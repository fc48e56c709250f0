# SPDX-License-Identifier: BSD-3-Clause
"""Resolves addresses in code to functions and lines."""
