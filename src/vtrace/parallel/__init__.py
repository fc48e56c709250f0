# SPDX-License-Identifier: BSD-3-Clause
"""The ranks that share the work of unifying; the only place that knows mpi4py."""
