# SPDX-License-Identifier: BSD-3-Clause
"""Odd situations: a table, and the test that tries each row in each of its modes."""
