# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that share work: exchanges, lending, and the only module that imports mpi4py."""
