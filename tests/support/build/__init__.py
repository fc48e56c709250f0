# SPDX-License-Identifier: BSD-3-Clause
"""Compilers, MPI installations, and programs: built, run and unified."""
