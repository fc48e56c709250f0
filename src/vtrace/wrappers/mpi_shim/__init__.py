# SPDX-License-Identifier: BSD-3-Clause
"""Finds an MPI, and generates and builds the shim for the MPI."""
