# SPDX-License-Identifier: BSD-3-Clause
"""Compiler wrappers, the MPI shim, and vtrace run."""
