# SPDX-License-Identifier: BSD-3-Clause
"""Runs the MPI test suite of MPICH with and without vtrace: `make test-mpich SUITE=DIR`, docs/conformance.md."""
