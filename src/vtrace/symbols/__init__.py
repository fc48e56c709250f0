# SPDX-License-Identifier: BSD-3-Clause
"""Addresses in the code become functions and lines."""
