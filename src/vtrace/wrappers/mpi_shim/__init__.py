# SPDX-License-Identifier: BSD-3-Clause
"""Finds an MPI, and generates and builds the shim for the MPI.

installation.py owns the facts about an MPI, generate.py and fortran*.py the C source, shim.py the cache, prebuilt.py
the shims of a wheel. A shim belongs to one MPI installation and one version of vtrace.
"""
