# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that share work: exchanges, lending, and the only module that imports mpi4py.

ranks.py owns the ranks (one process without MPI), mpi.py those of MPI, exchange.py and lending.py the steps that all
ranks take together. All ranks call the same steps in the same order; a VtraceError of one rank is raised on all.
"""
