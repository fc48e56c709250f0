# SPDX-License-Identifier: BSD-3-Clause
"""Compilers and MPI installations; building, running and unifying programs.

compilers.py and mpis.py find the installations, builder.py compiles programs, run.py runs programs and commands. Each
program is built once per session, and all pytest workers share the result.
"""
