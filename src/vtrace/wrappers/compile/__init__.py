# SPDX-License-Identifier: BSD-3-Clause
"""The compilers behind vtrace-cc, vtrace-cxx and vtrace-fc, and their command lines."""
