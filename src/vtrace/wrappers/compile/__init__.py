# SPDX-License-Identifier: BSD-3-Clause
"""Compilers, their command lines, and the options of vtrace-cc, vtrace-cxx and vtrace-fc."""
