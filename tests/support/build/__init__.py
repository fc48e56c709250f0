# SPDX-License-Identifier: BSD-3-Clause
"""Compilers and MPI installations; building, running and unifying programs."""
