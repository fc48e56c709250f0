# SPDX-License-Identifier: BSD-3-Clause
"""Compiler wrappers, the MPI shim, and vtrace run.

cc.py with compile/ owns vtrace-cc, mpi_shim/ the shim of each MPI, launch/ vtrace run. Modules that each rank or each
call of a compiler loads import little: neither click nor numpy.
"""
